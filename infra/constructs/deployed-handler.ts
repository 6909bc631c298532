import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { IGrantable, IPrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Alias, type IVersion } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue, QueueEncryption, RedrivePermission } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { SettingError } from '../../core/errors.ts';
import { LIVE_ALIAS } from '../../core/handler/naming.ts';
import { handlerEntry } from '../bundle/options.ts';
import type { HandlerPlan } from '../plan/handler-plan.ts';
import { checkBytes } from '../settings/setting-values.ts';
import { DeployedFunction, type FunctionSurroundings } from './deployed-function.ts';
import { grantSecrets, type ReadableSecret } from './handler-secrets.ts';
import type { Place } from './network.ts';
import { allowOwn, ownProperties } from './own-options.ts';

export interface DeployedHandlerProps extends FunctionSurroundings {
  readonly plan: HandlerPlan;
  readonly environment: Readonly<Record<string, string>>;
  readonly logJobStarts: boolean;
  /** The secrets of all handlers by name. */
  readonly secrets: ReadonlyMap<string, ReadableSecret>;
}

/** One handler: a queue, a dead-letter queue, a function, and the event source mapping. */
export class DeployedHandler extends Construct implements IGrantable {
  readonly plan: HandlerPlan;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly function: DeployedFunction;
  /** That of its function: `bucket.grantPut(millrace.handler('send_invoice'))`. */
  readonly grantPrincipal: IPrincipal;

  constructor(
    scope: Construct,
    id: string,
    { plan, environment, logJobStarts, secrets, ...surroundings }: DeployedHandlerProps,
  ) {
    super(scope, id);
    this.plan = plan;
    this.deadLetterQueue = this.makeDeadLetterQueue(surroundings.key);
    this.queue = this.makeQueue(surroundings.key);
    this.function = new DeployedFunction(this, 'Function', {
      ...surroundings,
      name: plan.queueName,
      bundle: { entry: handlerEntry, source: plan.file, nativeModules: plan.nativeModules, isBuilt: true },
      timeoutSeconds: plan.functionTimeout,
      memoryMb: plan.memoryMb,
      own: ownProperties(this, plan.definition.aws),
      login: surroundings.database.runtime,
      environment: {
        ...checkBytes(`settings of ${plan.name}`, {
          ...{ ...plan.environment, ...environment, ...plan.settings, ...plan.variables },
          ...secretVariable(plan, secrets),
        }),
        ...(!logJobStarts && { MILLRACE_LOG_JOB_STARTS: 'off' }),
        MILLRACE_QUEUE_URL: this.queue.queueUrl,
      },
    });
    this.grantPrincipal = this.function.grantPrincipal;
    allowOwn(this.function.grantPrincipal, plan.definition.aws ?? {}, surroundings.stage);
    grantSecrets(this.function.grantPrincipal, plan.secrets, { secrets, key: surroundings.key });
    this.invoked().addEventSource(
      new SqsEventSource(this.queue, {
        batchSize: plan.batchSize,
        ...(plan.batchWindow > 0 && { maxBatchingWindow: Duration.seconds(plan.batchWindow) }),
        maxConcurrency: plan.concurrency,
        reportBatchItemFailures: true,
      }),
    );
  }

  /**
   * Runs a container image in place of the bundle, which the image must contain. `cdk synth` writes it to `bundles`.
   * @param uri in ECR, with the tag of one build or a digest
   * @throws SettingError for another URI, and if the definition states layers, which an image cannot have
   */
  useImage(uri: string): void {
    const layers = this.plan.definition.aws?.layers;
    const expected = 'none, since its function runs a container image: copy the files of the layers into the image';
    if (layers?.length) throw new SettingError(`${this.plan.name}: aws.layers`, expected, layers);
    this.function.useImage(uri);
  }

  /**
   * Runs the handler in these subnets, with these security groups, in place of those of the stage. From there, it must
   * reach the database, SQS and Secrets Manager.
   */
  useVpc(place: Omit<Place, 'vpc'>): void {
    this.function.useVpc(place);
  }

  /** Returns what SQS invokes: the function, or the alias of its newest version, which has provisioned concurrency. */
  private invoked(): Pick<Alias, 'addEventSource'> {
    const { lambda } = this.function;
    const provisioned = this.plan.definition.aws?.provisionedConcurrency;
    if (provisioned === undefined) return lambda;
    return new Alias(this, 'Live', {
      aliasName: LIVE_ALIAS,
      // The types of CDK assume an app without exactOptionalPropertyTypes.
      version: lambda.currentVersion as IVersion,
      provisionedConcurrentExecutions: provisioned,
    });
  }

  private makeDeadLetterQueue(key: IKey | undefined): Queue {
    // By ARN, not by reference: each of the two queues would otherwise depend on the other.
    const arn = Stack.of(this).formatArn({ service: 'sqs', resource: this.plan.queueName });
    return new Queue(this, 'DeadLetterQueue', {
      queueName: this.plan.deadLetterQueueName,
      retentionPeriod: Duration.seconds(this.plan.deadLetterRetention),
      redriveAllowPolicy: {
        redrivePermission: RedrivePermission.BY_QUEUE,
        sourceQueues: [Queue.fromQueueArn(this, 'Source', arn)],
      },
      ...kept(key),
    });
  }

  private makeQueue(key: IKey | undefined): Queue {
    return new Queue(this, 'Queue', {
      queueName: this.plan.queueName,
      visibilityTimeout: Duration.seconds(this.plan.visibilityTimeout),
      retentionPeriod: Duration.seconds(this.plan.retention),
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: this.plan.maxReceiveCount },
      ...kept(key),
    });
  }
}

/** Returns the variable with the ARNs of a handler's secrets, which are not their values. */
function secretVariable(plan: HandlerPlan, secrets: ReadonlyMap<string, ReadableSecret>): Record<string, string> {
  const pairs = plan.secrets.map((name) => `${name}=${secrets.get(name)?.secretArn}`);
  return pairs.length === 0 ? {} : { MILLRACE_SECRETS: pairs.join(',') };
}

function kept(key: IKey | undefined) {
  return {
    ...(key
      ? { encryption: QueueEncryption.KMS, encryptionMasterKey: key }
      : { encryption: QueueEncryption.SQS_MANAGED }),
    // Not retained: the jobs are in the database, and the mirror refills a new dead-letter queue.
    removalPolicy: RemovalPolicy.DESTROY,
  };
}
