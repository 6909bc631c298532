import { Aws, type CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Trigger } from 'aws-cdk-lib/triggers';
import { Construct } from 'constructs';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { ownMigrations } from '../../core/postgres/migration-files.ts';
import { stepBundle } from '../bundle/bundle-function.ts';
import type { HandlerPlan } from '../plan/handler-plan.ts';
import { checkBytes } from '../settings/setting-values.ts';
import { DeployedFunction, type FunctionSurroundings } from './deployed-function.ts';

export interface MigrateStepProps extends FunctionSurroundings {
  /** The handlers after the deployment: the step refuses to remove others that have unfinished jobs. */
  readonly plans: readonly HandlerPlan[];
  /** Handlers to remove although they have unfinished jobs. */
  readonly drain: readonly string[];
  /** The stage from which this one takes the database. */
  readonly takeOver: string | undefined;
  /** Everything that uses the schema. */
  readonly before: readonly Construct[];
}

export interface RegistryStepProps extends FunctionSurroundings {
  readonly plans: readonly HandlerPlan[];
  /** The URL of every queue, without the name at its end. */
  readonly queueUrls: string;
  /** Everything that a row of the registry refers to. */
  readonly after: readonly Construct[];
  /** Whether to wait for a round of the dispatcher, for alarms that notify. */
  readonly awaitRound: boolean;
}

const MIGRATIONS = 'migrations';

/** Migrates the schema as its owner, before anything uses it. */
export class MigrateStep extends Construct {
  constructor(scope: Construct, id: string, { plans, drain, takeOver, before, ...surroundings }: MigrateStepProps) {
    super(scope, id);
    const { owner, runtime, app } = surroundings.database;
    const step = new DeployedFunction(this, 'Function', {
      ...surroundings,
      name: functionName(surroundings.stage, 'migrate'),
      bundle: { ...stepBundle('functions/migrate', plans), beside: { [MIGRATIONS]: ownMigrations() } },
      ...OWN_FUNCTIONS.migrate,
      login: owner,
      environment: {
        MILLRACE_MIGRATIONS: `/var/task/${MIGRATIONS}`,
        MILLRACE_RUNTIME_SECRET: runtime.secretArn,
        ...(app && { MILLRACE_APP_SECRET: app.secretArn }),
        ...(drain.length > 0 && { MILLRACE_DRAIN: drain.join(',') }),
        ...(takeOver !== undefined && { MILLRACE_TAKE_OVER: takeOver }),
        MILLRACE_ACCOUNT: Aws.ACCOUNT_ID,
      },
    });
    runtime.grantRead(step.lambda);
    app?.grantRead(step.lambda);
    const timeout = Duration.seconds(OWN_FUNCTIONS.migrate.timeoutSeconds);
    const trigger = new Trigger(this, 'Trigger', { handler: step.lambda, timeout });
    trigger.executeBefore(...before);
    // The function does not refer to a route or an endpoint, which take minutes to create.
    trigger.executeAfter(...surroundings.reached);
    keepTriggerLogs(this);
  }
}

/** Writes the deployed handlers into the registry, last; a rollback writes the previous ones. */
export class RegistryStep extends Construct {
  readonly trigger: Trigger;

  constructor(
    scope: Construct,
    id: string,
    { plans, queueUrls, after, awaitRound, ...surroundings }: RegistryStepProps,
  ) {
    super(scope, id);
    const step = new DeployedFunction(this, 'Function', {
      ...surroundings,
      name: functionName(surroundings.stage, 'registry'),
      bundle: stepBundle('functions/registry', plans),
      ...OWN_FUNCTIONS.registry,
      login: surroundings.database.runtime,
      environment: {
        ...variablesOfAll(plans),
        MILLRACE_ACCOUNT: Aws.ACCOUNT_ID,
        MILLRACE_QUEUE_URL_PREFIX: queueUrls,
        ...(awaitRound && { MILLRACE_AWAIT_ROUND: 'on' }),
      },
    });
    const timeout = Duration.seconds(OWN_FUNCTIONS.registry.timeoutSeconds);
    this.trigger = new Trigger(this, 'Trigger', { handler: step.lambda, timeout });
    this.trigger.executeAfter(...after);
  }
}

/** Returns what the registry step applies to the definitions, as the functions of the handlers do. */
function variablesOfAll(plans: readonly HandlerPlan[]): Record<string, string> {
  return checkBytes('variables of all handlers', Object.assign({}, ...plans.map(({ variables }) => variables)));
}

/** CDK makes one function that runs all triggers. Without this, its log group would outlive the stack. */
function keepTriggerLogs(scope: Construct): void {
  const logs = new LogGroup(scope, 'TriggerLogs', {
    retention: RetentionDays.ONE_MONTH,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const provider = Stack.of(scope).node.findChild('AWSCDK.TriggerCustomResourceProviderCustomResourceProvider');
  const runner = provider.node.findChild('Handler') as CfnResource;
  runner.addPropertyOverride('LoggingConfig', { LogGroup: logs.logGroupName });
}
