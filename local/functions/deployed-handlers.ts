import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { messageOf } from '../../core/failure.ts';
import type { HandlerDefinition } from '../../core/handler/handler.ts';
import { toAddress } from '../../core/handler/naming.ts';
import { scaleDelays } from '../../core/handler/retry-policy.ts';
import { timingOf } from '../../core/handler/timing.ts';
import { unreadVariables } from '../../core/handler/unread-variables.ts';
import { type Variables, variablesOf, withVariables } from '../../core/handler/variables.ts';
import type { Database } from '../../core/postgres/database.ts';
import { type Registration, registerHandlers } from '../../core/registry/register-handlers.ts';
import type { Runner } from '../lambda/runner.ts';
import type { FunctionSpec, MappingSpec } from '../lambda/specs.ts';
import { STAGE } from '../state.ts';
import type { BundledHandler, HandlerBundles } from './handler-bundles.ts';
import { ensureQueues } from './handler-queues.ts';

export interface HandlerSettings {
  /** The environment of every handler. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where the variables that set the attempts of handlers are looked up. */
  readonly variables: Variables;
}

export interface HandlersDeps {
  readonly project: string;
  /** Reads and bundles the handler files in the folder. */
  readonly bundle: () => Promise<HandlerBundles>;
  readonly runner: Runner;
  readonly sqs: SQSClient;
  readonly db: Database;
  /** Reads the settings of handlers, once for each sync. */
  readonly settings: () => Promise<HandlerSettings>;
  /** Factor applied to every retry delay before it is written to the registry. */
  readonly retryFactor: number;
  readonly printLine: (line: string) => void;
}

interface DeployedVersion extends Registration {
  /** Contents of the function and of its mapping: a difference means that the deployed one must be replaced. */
  readonly code: string;
  readonly mapping: string;
}

interface State {
  readonly deployed: Map<string, DeployedVersion>;
  /** Complaints about files that are still broken; each is printed once. */
  complaints: ReadonlySet<string>;
  /** Variables without effect; each is printed once. */
  unread: ReadonlySet<string>;
  /** The variables that the deployed handlers read. */
  variables: Readonly<Record<string, string>>;
  /** Set after the first sync: from then on every change is printed. */
  started: boolean;
}

export interface DeployedHandlers {
  /** Sorted by name. */
  readonly list: () => readonly Registration[];
  /** One line for each file that is not deployed in its current form: file, line and reason. */
  readonly complaints: () => readonly string[];
  /** The variables that the handlers read, such as `MILLRACE_MAX_ATTEMPTS`. */
  readonly variables: () => Readonly<Record<string, string>>;
  /**
   * Brings queues, functions, mappings and registry in line with the handler folder, or with `bundled` if given. Calls
   * run one after another.
   * @throws SettingError, and changes nothing, when a variable has an invalid value.
   */
  sync(bundled?: HandlerBundles): Promise<void>;
}

/** Deploys the handlers of a folder to this machine whenever `sync` is called. */
export function openHandlers(deps: HandlersDeps): DeployedHandlers {
  const state: State = {
    ...{ deployed: new Map(), complaints: new Set(), started: false },
    ...{ unread: new Set(), variables: {} },
  };
  let last: Promise<void> = Promise.resolve();
  return {
    list: () => [...state.deployed].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, handler]) => handler),
    complaints: () => [...state.complaints],
    variables: () => state.variables,
    sync: (bundled) => {
      last = last.catch(() => undefined).then(async () => syncOnce(deps, state, bundled ?? (await deps.bundle())));
      return last;
    },
  };
}

async function syncOnce(deps: HandlersDeps, state: State, bundled: HandlerBundles): Promise<void> {
  const { deployed } = state;
  const settings = await deps.settings();
  const { variables } = settings;
  // Before any change, because the same variable can belong to several handlers.
  const handlers = bundled.handlers.map((handler) => ({
    ...handler,
    definition: withVariables(handler.definition, variables),
  }));
  reportUnread(deps, state, unreadVariables(variables, [...bundled.present].map(toAddress)));
  const refused = await Promise.all(handlers.map((handler) => deployOrRefuse(deps, state, handler, settings)));
  const complaints = [...bundled.complaints, ...refused.flat()];
  for (const line of complaints) if (!state.complaints.has(line)) deps.printLine(line);
  state.complaints = new Set(complaints);
  // The handler of a broken file stays as it was deployed; the handler of a deleted file is removed.
  for (const [name, { functionName }] of deployed) {
    if (bundled.present.has(name)) continue;
    deps.runner.removeFunction(functionName);
    deployed.delete(name);
    deps.printLine(`${name} was removed; its jobs stay in the database`);
  }
  await registerHandlers({ db: deps.db, stage: STAGE, onWaiting: deps.printLine }, [...deployed.values()]);
  state.variables = variablesOf(
    bundled.handlers.map(({ definition }) => definition),
    variables,
  );
  state.started = true;
}

function reportUnread(deps: HandlersDeps, state: State, lines: readonly string[]): void {
  for (const line of lines) if (!state.unread.has(line)) deps.printLine(line);
  state.unread = new Set(lines);
}

/** Deploys a handler; returns a complaint if that fails. */
async function deployOrRefuse(
  deps: HandlersDeps,
  state: State,
  handler: BundledHandler,
  settings: HandlerSettings,
): Promise<string[]> {
  try {
    await deploy(deps, state, handler, settings);
    return [];
  } catch (error) {
    return [`${relative(deps.project, handler.file)}: ${messageOf(error)}`];
  }
}

async function deploy(
  deps: HandlersDeps,
  { deployed, started }: State,
  handler: BundledHandler,
  { environment, variables }: HandlerSettings,
): Promise<void> {
  const { definition, name, bundle, functionName } = handler;
  const queues = await ensureQueues(deps.sqs, STAGE, definition);
  const spec: FunctionSpec = {
    name: functionName,
    bundle,
    timeoutSeconds: timingOf(definition).functionTimeout,
    memoryMb: definition.memoryMb,
    // The variables of this process are included, which functions do not inherit.
    environment: { ...environment, ...variablesOf([definition], variables), MILLRACE_QUEUE_URL: queues.queueUrl },
  };
  const mapping = mappingOf(definition, functionName, queues);
  const next: DeployedVersion = {
    definition: { ...definition, retry: scaleDelays(definition.retry, deps.retryFactor) },
    queueUrl: queues.queueUrl,
    deadLetterQueueUrl: queues.deadLetterQueueUrl,
    functionName,
    code: JSON.stringify(spec) + (await readFile(bundle, 'utf8')),
    mapping: JSON.stringify(mapping),
  };
  const before = deployed.get(name);
  const changed = install(deps.runner, { spec, mapping, before, next });
  deployed.set(name, next);
  if (changed && started) deps.printLine(`${name} was ${before ? 'reloaded' : 'added'}`);
}

function mappingOf(
  { batch, concurrency }: HandlerDefinition,
  functionName: string,
  { queueUrl, queueArn }: { queueUrl: string; queueArn: string },
): MappingSpec {
  const { size: batchSize, windowSeconds } = batch;
  return { functionName, queueUrl, queueArn, batchSize, windowSeconds, maximumConcurrency: concurrency };
}

interface Change {
  readonly spec: FunctionSpec;
  readonly mapping: MappingSpec;
  readonly before: DeployedVersion | undefined;
  readonly next: DeployedVersion;
}

/** Installs a change; returns false if function and mapping are up to date. */
function install(runner: Runner, { spec, mapping, before, next }: Change): boolean {
  if (before?.mapping !== next.mapping) {
    if (before) runner.removeFunction(spec.name);
    runner.addFunction(spec);
    runner.addMapping(mapping);
    return true;
  }
  if (before.code === next.code) return false;
  runner.replaceFunction(spec);
  return true;
}
