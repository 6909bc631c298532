import { Annotations, Stack } from 'aws-cdk-lib';
import { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import type { HandlerEntry } from '../core/catalog/import-handler.ts';
import { scheduleGroupName } from '../core/handler/naming.ts';
import { unreadVariables } from '../core/handler/unread-variables.ts';
import { checkVariables } from '../core/handler/variables.ts';
import { ownVersion } from '../core/own-files.ts';
import { Api } from './constructs/api.ts';
import type { DatabaseAccess } from './constructs/database.ts';
import { MigrateStep, RegistryStep } from './constructs/deploy-steps.ts';
import type { FunctionSurroundings } from './constructs/deployed-function.ts';
import type { DeployedHandler } from './constructs/deployed-handler.ts';
import { DeployedHandlers } from './constructs/deployed-handlers.ts';
import { Dispatcher } from './constructs/dispatcher.ts';
import { type GivenSecrets, HandlerSecrets } from './constructs/handler-secrets.ts';
import { Mirror } from './constructs/mirror.ts';
import { addMonitoring } from './constructs/monitoring.ts';
import type { Place } from './constructs/network.ts';
import { OperatorPolicy } from './constructs/operator-policy.ts';
import { retainRecords } from './constructs/retention.ts';
import { addRotation, rotatedSecrets } from './constructs/rotation.ts';
import { makeSurroundings } from './constructs/surroundings.ts';
import { readHandlers, usualHandlers } from './handlers.ts';
import { API_CONCURRENCY, connectionsOf, reserves } from './plan/capacity.ts';
import { planHandler } from './plan/handler-plan.ts';
import { checkNamed, unnamedSecrets } from './plan/named-settings.ts';
import { prove } from './plan/proofs.ts';
import { publishesMetrics } from './settings/monitoring-settings.ts';
import type { Egress } from './settings/place-settings.ts';
import { checkClaims, checkStage, type Settings, splitSettings } from './settings/settings.ts';
import { isProtected, usualOf } from './settings/stage-settings.ts';

/** Everything but the stage has a default. Those of the stage `dev` cost least. */
export interface MillraceProps
  extends Partial<Omit<Settings, 'handlersFolder' | 'network' | 'secrets' | 'stage' | 'tags'>> {
  /** Part of every name, such as that of a queue: `[a-z][a-z0-9]*`, at most 12 characters. */
  readonly stage: string;
  /** Folder of the handler files, or the handlers. Default: `jobs`, else `functions/handlers`. */
  readonly handlers?: string | readonly HandlerEntry[];
  /** The secrets that definitions name, by these names: a secret, or its full ARN. */
  readonly secrets?: GivenSecrets;
  /** Without `place`, functions run in a new VPC with a new database, or outside a VPC with an existing one. */
  readonly network?: { readonly place?: Place; readonly egress?: Egress };
}

const DEFAULTS = {
  network: {},
  standby: false,
  rotation: undefined,
  kmsKey: undefined,
  tracing: false,
  dispatch: 'auto',
  pollInterval: undefined,
  claimLimit: undefined,
  api: { mode: 'api-key' },
  architecture: 'arm64',
  settings: {},
  notSecret: [],
  secrets: {},
  variables: {},
  drain: [],
  takeOver: undefined,
  moveDatabase: undefined,
  handlerStacks: undefined,
  maxConnections: undefined,
  accountConcurrency: 1000,
  logJobStarts: true,
} as const satisfies Partial<MillraceProps>;

type CompleteProps = Required<Omit<MillraceProps, 'handlers'>>;

function complete(given: MillraceProps): CompleteProps {
  const { protect = isProtected(given.stage) } = given;
  const chosen = { ...DEFAULTS, ...usualOf(protect), ...given, protect };
  const props = { ...chosen, metrics: publishesMetrics(given.metrics, chosen) };
  checkClaims(props);
  const { settings, variables } = splitSettings(props.settings, props.notSecret);
  const maxConnections = props.maxConnections ?? connectionsOf(props.database);
  // A setting is more explicit than a variable, which an environment can contain.
  return { ...props, maxConnections, settings, variables: { ...props.variables, ...variables } };
}

/** Millrace in one stack: handlers, dispatcher, mirror, API, alarms and dashboard. */
export class Millrace extends Construct {
  readonly stage: string;
  readonly database: DatabaseAccess;
  /** Undefined for functions outside a VPC. */
  readonly place: Place | undefined;
  readonly handlers: readonly DeployedHandler[];
  readonly dispatcher: Dispatcher;
  readonly mirror: Mirror;
  readonly api: Api | undefined;
  /** The URL of every queue, without the name at its end. */
  readonly queueUrls: string;
  /** Policy for people who redrive from the AWS console. */
  readonly operatorPolicy: OperatorPolicy;

  constructor(scope: Construct, id: string, given: MillraceProps) {
    super(scope, id);
    const props = complete(given);
    const inStack = Stack.of(this).node.findAll();
    if (inStack.some((one) => one instanceof Millrace && one !== this)) {
      throw new Error('a stack can contain one Millrace: give the other its own stack and stage');
    }
    this.stage = checkStage(props.stage);
    const { handlers = usualHandlers() } = given;
    const entries = typeof handlers === 'string' ? readHandlers(handlers) : handlers;
    const addresses = entries.map(({ definition }) => definition);
    checkVariables(addresses, props.variables);
    const settings = { ...props.variables, ...props.settings };
    checkNamed(entries, { settings, secrets: props.secrets });
    const sources = { settings, notSecret: props.notSecret };
    const plans = entries.map((entry) => planHandler(props.stage, entry, props.variables, sources));
    prove({ ...props, handlers: plans, apiConcurrency: props.api.mode === 'off' ? 0 : API_CONCURRENCY });
    const surroundings = makeSurroundings(this, props);
    this.database = surroundings.database;
    this.place = surroundings.place;
    const scheduled = {
      ...surroundings,
      scheduleGroup: new CfnScheduleGroup(this, 'Schedules', { name: scheduleGroupName(props.stage) }),
    };
    this.dispatcher = new Dispatcher(this, 'Dispatcher', {
      ...scheduled,
      mode: props.dispatch,
      pollInterval: props.pollInterval,
      claimLimit: props.claimLimit,
      reservedConcurrency: reserves(props).dispatcher,
    });
    this.mirror = new Mirror(this, 'Mirror', scheduled);
    const deployed = new DeployedHandlers(this, 'Handlers', {
      ...{ ...surroundings, plans, dispatcher: this.dispatcher, stacks: props.handlerStacks },
      ...{ environment: props.settings, logJobStarts: props.logJobStarts },
      secrets: new HandlerSecrets(this, 'Secrets', props.secrets).byName,
    });
    this.handlers = deployed.all;
    this.queueUrls = deployed.queueUrls;
    this.api = this.makeApi(surroundings, props);
    const registry = this.addDeploySteps(surroundings, props);
    this.operatorPolicy = new OperatorPolicy(this, 'Operator', surroundings);
    this.addMonitoring(registry, props, surroundings);
    if (props.protect) retainRecords(this, this.handlers);
    this.warn([...unreadVariables(props.variables, addresses), ...unnamedSecrets(entries, props.secrets)]);
  }

  /** Returns the handler with this name, such as `send_invoice`, for example to grant its function a permission. */
  handler(name: string): DeployedHandler {
    const found = this.handlers.find(({ plan }) => plan.name === name);
    if (found) return found;
    throw new Error(`no handler ${name}: expected one of ${this.handlers.map(({ plan }) => plan.name).join(', ')}`);
  }

  private warn(lines: readonly string[]): void {
    for (const line of lines) Annotations.of(this).addWarningV2(`millrace:variables:${line.split(' ')[0]}`, line);
  }

  private makeApi(surroundings: FunctionSurroundings, props: CompleteProps): Api | undefined {
    const { api } = props;
    if (api.mode === 'off') return undefined;
    return new Api(this, 'Api', {
      ...surroundings,
      choice: api,
      plans: this.handlers.map(({ plan }) => plan),
      dispatcher: this.dispatcher.function,
      version: ownVersion(),
      reservedConcurrency: reserves(props).api,
    });
  }

  /** Migrates before anything uses the schema, and registers handlers after everything that the registry names. */
  private addDeploySteps(surroundings: FunctionSurroundings, props: CompleteProps): RegistryStep {
    const { drain, takeOver, moveDatabase, alarms, rotation: days } = props;
    const others = [this.dispatcher, this.mirror, ...(this.api ? [this.api] : [])];
    const before = [...this.handlers.map((handler) => handler.function), ...others];
    const plans = this.handlers.map(({ plan }) => plan);
    new MigrateStep(this, 'Migrate', { ...surroundings, plans, drain, takeOver, moveDatabase, before });
    const registry = new RegistryStep(this, 'Registry', {
      ...surroundings,
      plans,
      queueUrls: this.queueUrls,
      after: [...this.handlers, ...others],
      awaitRound: alarms !== false && Object.keys(alarms).length > 0,
    });
    addRotation(this, { ...surroundings, place: this.place, days, after: registry.resource });
    return registry;
  }

  private addMonitoring({ resource: after }: RegistryStep, props: CompleteProps, { key }: FunctionSurroundings): void {
    const { stage, api, database } = this;
    const { alarms: target, dashboard, rotation } = props;
    addMonitoring(this, {
      ...{ stage, target, after, dashboard, key, functionNames: this.handlers.map(({ plan }) => plan.queueName) },
      ...(api && { apiId: api.apiId }),
      rotated: rotatedSecrets(database, rotation),
      ...(database.cluster && { clusterId: database.cluster.clusterIdentifier }),
      ...(database.instance && { instanceId: database.instance.instanceIdentifier }),
    });
  }
}
