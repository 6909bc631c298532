import { Aws, type CustomResource } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { ownMigrations } from '../../core/postgres/migration-files.ts';
import { databaseIdentity } from '../../core/registry/database-move.ts';
import { stepBundle } from '../bundle/bundle-function.ts';
import type { HandlerPlan } from '../plan/handler-plan.ts';
import { checkBytes } from '../settings/setting-values.ts';
import type { DatabaseAccess } from './database.ts';
import { createdLoginVariables } from './database-login.ts';
import { DeployedFunction, type FunctionSurroundings } from './deployed-function.ts';
import { StepResource } from './step-resource.ts';

export interface MigrateStepProps extends FunctionSurroundings {
  /** The handlers after the deployment: the step refuses to remove others that have unfinished jobs. */
  readonly plans: readonly HandlerPlan[];
  /** Handlers to remove although they have unfinished jobs. */
  readonly drain: readonly string[];
  /** The stage from which this one takes the database. */
  readonly takeOver: string | undefined;
  /** The database from which the deployment moves the stage to another one. */
  readonly moveDatabase: string | undefined;
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
  constructor(scope: Construct, id: string, props: MigrateStepProps) {
    super(scope, id);
    const { plans, drain, takeOver, moveDatabase, before, ...surroundings } = props;
    const { owner, runtime, app } = surroundings.database;
    const step = new DeployedFunction(this, 'Function', {
      ...untraced(surroundings),
      name: functionName(surroundings.stage, 'migrate'),
      bundle: { ...stepBundle('functions/migrate', plans), beside: { [MIGRATIONS]: ownMigrations() } },
      ...OWN_FUNCTIONS.migrate,
      login: { secret: owner },
      environment: {
        MILLRACE_MIGRATIONS: `/var/task/${MIGRATIONS}`,
        ...createdLoginVariables(runtime),
        ...(app && { MILLRACE_APP_SECRET: app.secretArn }),
        ...(drain.length > 0 && { MILLRACE_DRAIN: drain.join(',') }),
        ...(takeOver !== undefined && { MILLRACE_TAKE_OVER: takeOver }),
        MILLRACE_ACCOUNT: Aws.ACCOUNT_ID,
      },
    });
    if ('secret' in runtime) runtime.secret.grantRead(step.lambda);
    app?.grantRead(step.lambda);
    const { resource } = new StepResource(this, 'Step', {
      step,
      key: surroundings.key,
      properties: {
        Database: identityOf(surroundings.database),
        ...(moveDatabase !== undefined && { MoveDatabase: moveDatabase }),
      },
    });
    for (const one of before) one.node.addDependency(resource);
    // The function does not refer to a route or an endpoint, which take minutes to create.
    resource.node.addDependency(...surroundings.reached);
  }
}

/** Writes the deployed handlers into the registry, last; a rollback writes the previous ones. */
export class RegistryStep extends Construct {
  readonly resource: CustomResource;

  constructor(
    scope: Construct,
    id: string,
    { plans, queueUrls, after, awaitRound, ...surroundings }: RegistryStepProps,
  ) {
    super(scope, id);
    const step = new DeployedFunction(this, 'Function', {
      ...untraced(surroundings),
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
    const properties = { Database: identityOf(surroundings.database) };
    this.resource = new StepResource(this, 'Step', { step, key: surroundings.key, properties }).resource;
    this.resource.node.addDependency(...after);
  }
}

/** A step runs only in a deployment, which reports its duration and its failure. */
function untraced(surroundings: FunctionSurroundings): FunctionSurroundings {
  return { ...surroundings, tracing: false };
}

/** Returns what the registry step applies to the definitions, as the functions of the handlers do. */
function variablesOfAll(plans: readonly HandlerPlan[]): Record<string, string> {
  return checkBytes('variables of all handlers', Object.assign({}, ...plans.map(({ variables }) => variables)));
}

/** Returns the text by which CloudFormation notices another database. */
function identityOf({ owner, environment }: DatabaseAccess): string {
  const { MILLRACE_DATABASE_HOST: host, MILLRACE_DATABASE_PORT: port, MILLRACE_DATABASE_NAME: database } = environment;
  return databaseIdentity({ arn: owner.secretArn, host, port, database });
}
