import { Duration, Fn } from 'aws-cdk-lib';
import { Trigger } from 'aws-cdk-lib/triggers';
import { Construct } from 'constructs';
import { functionName } from '../core/naming.ts';
import { catalogBundle } from './catalog-bundle.ts';
import { DeployedFunction, type FunctionSurroundings } from './deployed-function.ts';
import type { DeployedHandler } from './deployed-handler.ts';
import type { HandlerPlan } from './handler-plan.ts';

export interface MigrateStepProps extends FunctionSurroundings {
  /** Of the handlers that there will be: those that are gone may have unfinished jobs. */
  readonly plans: readonly HandlerPlan[];
  /** Handlers whose removal is meant although they have some. */
  readonly drain: readonly string[];
  /** What needs the schema. */
  readonly before: readonly Construct[];
}

export interface RegistryStepProps extends FunctionSurroundings {
  readonly handlers: readonly DeployedHandler[];
  /** What a row of the registry promises. */
  readonly after: readonly Construct[];
}

/** As long as Lambda lets a function run; longer migrations are made from the command line first. */
const STEP_SECONDS = 900;
const MEMORY_MB = 256;
const MIGRATIONS = 'migrations';

/** Brings the schema up to date as its owner, before anything that needs it. */
export class MigrateStep extends Construct {
  constructor(scope: Construct, id: string, { plans, drain, before, ...surroundings }: MigrateStepProps) {
    super(scope, id);
    const { owner, runtime, app, cluster } = surroundings.database;
    const step = new DeployedFunction(this, 'Function', {
      ...surroundings,
      name: functionName(surroundings.stage, 'migrate'),
      bundle: { ...catalogBundle('functions/migrate.ts', plans), beside: { [MIGRATIONS]: MIGRATIONS } },
      timeoutSeconds: STEP_SECONDS,
      memoryMb: MEMORY_MB,
      login: owner,
      environment: {
        MILLRACE_MIGRATIONS: `/var/task/${MIGRATIONS}`,
        MILLRACE_RUNTIME_SECRET: runtime.secretArn,
        ...(app && { MILLRACE_APP_SECRET: app.secretArn }),
        ...(drain.length > 0 && { MILLRACE_DRAIN: drain.join(',') }),
      },
    });
    runtime.grantRead(step.lambda);
    app?.grantRead(step.lambda);
    const trigger = new Trigger(this, 'Trigger', { handler: step.lambda, timeout: Duration.seconds(STEP_SECONDS) });
    trigger.executeBefore(...before);
    if (cluster) trigger.executeAfter(cluster);
  }
}

/** Writes what is deployed into the registry, after it is; a rollback writes what was there before. */
export class RegistryStep extends Construct {
  constructor(scope: Construct, id: string, { handlers, after, ...surroundings }: RegistryStepProps) {
    super(scope, id);
    const plans = handlers.map(({ plan }) => plan);
    const step = new DeployedFunction(this, 'Function', {
      ...surroundings,
      name: functionName(surroundings.stage, 'registry'),
      bundle: catalogBundle('functions/registry.ts', plans),
      timeoutSeconds: STEP_SECONDS,
      memoryMb: MEMORY_MB,
      login: surroundings.database.runtime,
      environment: { MILLRACE_QUEUE_URL_PREFIX: urlPrefix(handlers) },
    });
    const trigger = new Trigger(this, 'Trigger', { handler: step.lambda, timeout: Duration.seconds(STEP_SECONDS) });
    trigger.executeAfter(...after);
  }
}

/** What the URLs of all queues of a stage begin with: that of the first without its name. */
function urlPrefix([first]: readonly DeployedHandler[]): string {
  if (first === undefined) throw new Error('handlers: there is no handler file; write one, such as send-reminder.ts');
  return Fn.select(0, Fn.split(first.plan.queueName, first.queue.queueUrl));
}
