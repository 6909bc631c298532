import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { allSettings } from '../core/config.ts';
import { claimVariables } from '../core/dispatch/claim-settings.ts';
import { registerRun } from '../core/dispatch/dispatcher-run.ts';
import { functionName } from '../core/handler/naming.ts';
import { openLog } from '../core/log.ts';
import { type Database, openDatabase } from '../core/postgres/database.ts';
import { ensureLogin } from '../core/postgres/ensure-login.ts';
import { migrate } from '../core/postgres/migrate.ts';
import { releaseCutOff } from './cut-off.ts';
import { drain, recordAtStop } from './drain.ts';
import { type Api, startApi } from './functions/api-function.ts';
import { type Bundling, beginBundling } from './functions/bundling.ts';
import type { HandlerSettings } from './functions/deploy-handler.ts';
import { type DeployedHandlers, openHandlers } from './functions/deployed-handlers.ts';
import { type DotEnvOptions, openDotEnv } from './functions/dot-env.ts';
import { openEndSubscription } from './functions/end-subscription.ts';
import { accessKey, fixedEnvironment, ofSamples } from './functions/function-environment.ts';
import { openSqsClient } from './functions/handler-queues.ts';
import { startSchedules } from './functions/schedules.ts';
import { handlersFolder } from './handlers-folder.ts';
import { type Runner, startRunner } from './lambda/runner.ts';
import type { RunnerEvent } from './lambda/specs.ts';
import type { Children } from './processes/children.ts';
import { keepPorts } from './processes/kept-ports.ts';
import type { StartProgress } from './screen/start-progress.ts';
import { findOtherSqs } from './services/other-sqs.ts';
import { openServices, type Services } from './services/services.ts';
import { REGION, STAGE } from './state.ts';

export interface StackOptions {
  readonly children: Children;
  /** The project folder: its data is in `.millrace`. */
  readonly project: string;
  /** Default: the usual folder. */
  readonly handlersFolder?: string | undefined;
  /** A Postgres of the user, as its owner; default: a server that the stack starts. */
  readonly databaseUrl?: string | undefined;
  /** Called with the absolute paths of sources on which a handler depends. */
  readonly onSources?: (files: readonly string[]) => void;
  /** Factor applied to every retry delay. */
  readonly retryFactor: number;
  readonly onEvent: (event: RunnerEvent) => void;
  readonly printLine: (line: string) => void;
  /** Shows a step of the start while it lasts. */
  readonly during?: StartProgress['during'];
  /** Fired when the stack is to stop: a start in progress then throws the signal's reason. */
  readonly stop: AbortSignal;
  /** Fired when every child process is being killed. */
  readonly halt: AbortSignal;
}

export interface Stack {
  readonly services: Services;
  readonly databaseUrl: string;
  readonly sqsEndpoint: string;
  readonly lambdaAccessKeyId: string;
  readonly smtpUrl: string;
  readonly apiUrl: string;
  readonly db: Database;
  readonly runner: Runner;
  readonly handlers: DeployedHandlers;
  /** Waits for running jobs, then stops everything. */
  close(): Promise<void>;
}

/** Functions connect with the role they have in a deployment, not as the owner of the database. */
const RUNTIME_LOGIN = 'millrace_functions';
const DISPATCHER = functionName(STAGE, 'dispatcher');

const silent = openLog(() => undefined);

/**
 * Starts the whole product on this machine: each part is the real one or speaks its protocol. If a part does not
 * start, the parts started before it are stopped.
 */
export async function openStack(options: StackOptions): Promise<Stack> {
  const { children, project, printLine, stop, during = pass } = options;
  await using open = new AsyncDisposableStack();
  const data = join(project, '.millrace');
  const otherSqs = await findOtherSqs(REGION);
  // Bundling takes half the time of a start, so it begins first.
  const bundles = join(data, 'bundles');
  const bundling = bundle(options, bundles);
  const startServer = keepPorts(data, printLine);
  const starting = during('starting the servers', openServices({ ...options, data, otherSqs, startServer }));
  const services = open.adopt(await starting, (started) => started.close());
  stop.throwIfAborted();
  const databaseUrl = services.postgres.current().url;
  await during('migrating the database', migrate({ connectionString: databaseUrl, log: silent }));
  const db = open.adopt(await openOwner(databaseUrl, data), (pool) => pool.close());
  // A newer run registered here makes the dispatcher stop after its current round.
  const endDispatcher = () => registerRun(db).then(noted, noted);
  const draining = { ...options, data, db, endDispatcher };
  const sqsEndpoint = services.sqs.endpoint;
  const sqs = open.adopt(openSqsClient(sqsEndpoint, REGION), (client) => client.destroy());
  const lambdaAccessKeyId = randomBytes(16).toString('hex');
  const onEvent = subscribe(options, () => runner);
  const common = { children, sqsEndpoint, accessKeyId: lambdaAccessKeyId, region: REGION, onEvent };
  const start = (port: number) => startRunner({ ...common, port });
  const runner = open.adopt(recordAtStop(await startServer('lambda', start), draining), (one) => drain(one, draining));
  stop.throwIfAborted();
  const smtpUrl = `smtp://127.0.0.1:${services.mailbox.current().port}`;
  const url = await runtimeUrl(db, databaseUrl, options);
  const fixed = fixedEnvironment({ sqsEndpoint, lambdaEndpoint: runner.endpoint, databaseUrl: url });
  const environment = { ...fixed, ...accessKey(lambdaAccessKeyId) };
  const settings = openSettings({ project, fixed, printLine }, { ...environment, ...ofSamples(smtpUrl) });
  const bundled = await during('importing and bundling the handlers', bundling.first);
  const api = open.adopt(await startApi({ runner, bundles, environment, settings, startServer }), closeApi);
  const handlers = openHandlers({ ...options, bundling, api, runner, sqs, db, settings });
  await during('deploying the handlers', handlers.sync(undefined, bundled.handlers));
  stop.throwIfAborted();
  open.defer(endDispatcher);
  open.adopt(startSchedules(runner, bundled.scheduled, await ofDispatcher(settings, environment)), (one) => one.stop());
  return {
    ...{ services, databaseUrl, sqsEndpoint, lambdaAccessKeyId, smtpUrl, apiUrl: api.url, db, runner, handlers },
    close: disposal(open),
  };
}

/** Keeps what is open, and returns a function that closes it. */
function disposal(open: AsyncDisposableStack): () => Promise<void> {
  const all = open.move();
  return () => all.disposeAsync();
}

const noted = (): void => undefined;

const pass: StartProgress['during'] = (_step, work) => work;

function bundle(options: StackOptions, bundles: string): Bundling {
  const folder = handlersFolder(options.project, options.handlersFolder) ?? options.project;
  return beginBundling({ ...options, folder, bundles });
}

type Strings = Readonly<Record<string, string>>;

/** Returns a function that reads the `.env` file again at each reload, so that a saved file applies. */
function openSettings(options: DotEnvOptions, environment: Strings) {
  const readDotEnv = openDotEnv(options);
  return async (): Promise<HandlerSettings> => {
    const ofProject = await readDotEnv();
    // As with other programs, a variable of the process overrides the file.
    const variables = { ...ofProject, ...allSettings() };
    return { environment: { ...environment, ...ofProject }, variables };
  };
}

/** Adds the settings of claims to the variables of every function. */
async function ofDispatcher(settings: () => Promise<HandlerSettings>, environment: Strings): Promise<Strings> {
  const { variables } = await settings();
  return { ...environment, ...claimVariables(variables) };
}

/** Lets the dispatcher receive the log lines that report the end of a process, as in a deployment. */
function subscribe({ onEvent, halt }: StackOptions, runner: () => Runner): (event: RunnerEvent) => void {
  const invoke = (payload: unknown) => runner().invoke(DISPATCHER, payload, 'Event');
  // Before the dispatcher is deployed, and while the stack stops, the lease ends these attempts.
  const send = openEndSubscription((payload) => void invoke(payload).catch(() => undefined));
  return (event) => {
    onEvent(event);
    // A second Ctrl-C kills these processes: no attempt is at fault.
    if (!halt.aborted) send(event);
  };
}

/** Connects as the owner. No function runs yet, so that nothing runs the jobs that an earlier stop cut off. */
async function openOwner(connectionString: string, data: string): Promise<Database> {
  const db = openDatabase({ connectionString, max: 2, name: 'millrace-local', log: silent });
  try {
    await releaseCutOff(data, db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

function closeApi(api: Api): Promise<void> {
  return api.close();
}

async function runtimeUrl(db: Database, ownerUrl: string, { project, databaseUrl }: StackOptions): Promise<string> {
  const password = randomBytes(18).toString('base64url');
  // Other stacks can use a server of the user, with logins and passwords of their own.
  const suffix = `_${createHash('sha256').update(project).digest('hex').slice(0, 8)}`;
  const name = `${RUNTIME_LOGIN}${databaseUrl === undefined ? '' : suffix}`;
  await ensureLogin(db, { name, password, role: 'millrace_runtime' });
  const url = new URL(ownerUrl);
  url.username = name;
  url.password = password;
  // In an address, parameters take precedence.
  for (const name of ['user', 'password']) if (url.searchParams.has(name)) url.searchParams.delete(name);
  return url.href;
}
