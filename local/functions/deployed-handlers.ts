import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import type { SQSClient } from '@aws-sdk/client-sqs';
import type { HandlerDefinition } from '../../core/handler/handler.ts';
import { scaleDelays } from '../../core/handler/retry-policy.ts';
import { timingOf } from '../../core/handler/timing.ts';
import type { Database } from '../../core/postgres/database.ts';
import { type Registration, registerHandlers } from '../../core/registry/register-handlers.ts';
import type { Runner } from '../lambda/runner.ts';
import type { FunctionSpec, MappingSpec } from '../lambda/specs.ts';
import { STAGE } from '../state.ts';
import type { BundledHandler, HandlerBundles } from './handler-bundles.ts';
import { ensureQueues } from './handler-queues.ts';

export interface HandlersDeps {
  readonly project: string;
  /** Reads and bundles what the folder holds now. */
  readonly bundle: () => Promise<HandlerBundles>;
  readonly runner: Runner;
  readonly sqs: SQSClient;
  readonly db: Database;
  /** What every function finds in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Every retry delay is multiplied by this before it goes into the registry. */
  readonly retryFactor: number;
  readonly say: (line: string) => void;
}

interface DeployedVersion extends Registration {
  /** Whatever the running function and its mapping were made of; differs when either has to be replaced. */
  readonly code: string;
  readonly mapping: string;
}

interface State {
  readonly deployed: Map<string, DeployedVersion>;
  /** What was said about broken files and still holds: it is said once. */
  complaints: ReadonlySet<string>;
  /** After the first round every change is told. */
  started: boolean;
}

export interface DeployedHandlers {
  /** In the order of their names. */
  readonly list: () => readonly Registration[];
  /**
   * Makes queues, functions, mappings and registry what the folder says, or what was bundled of it already. Calls are
   * served one after another.
   */
  sync(bundled?: HandlerBundles): Promise<void>;
}

/** Deploys the handlers of a folder to one machine, and again whenever `sync` is called. */
export function openHandlers(deps: HandlersDeps): DeployedHandlers {
  const state: State = { deployed: new Map(), complaints: new Set(), started: false };
  let last: Promise<void> = Promise.resolve();
  return {
    list: () => [...state.deployed].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, handler]) => handler),
    sync: (bundled) => {
      last = last.catch(() => undefined).then(async () => syncOnce(deps, state, bundled ?? (await deps.bundle())));
      return last;
    },
  };
}

async function syncOnce(deps: HandlersDeps, state: State, bundled: HandlerBundles): Promise<void> {
  const { deployed } = state;
  const refused = await Promise.all(bundled.handlers.map((handler) => deployOrRefuse(deps, state, handler)));
  const complaints = [...bundled.complaints, ...refused.flat()];
  for (const line of complaints) if (!state.complaints.has(line)) deps.say(line);
  state.complaints = new Set(complaints);
  // A file that is broken just now keeps what was deployed of it; a file that is gone takes its handler along.
  for (const [name, { functionName }] of deployed) {
    if (bundled.present.has(name)) continue;
    deps.runner.removeFunction(functionName);
    deployed.delete(name);
    deps.say(`${name} was removed; its jobs wait`);
  }
  await registerHandlers(deps.db, [...deployed.values()]);
  state.started = true;
}

/** What is to be said about a handler that cannot be deployed, if anything. */
async function deployOrRefuse(deps: HandlersDeps, state: State, handler: BundledHandler): Promise<string[]> {
  try {
    await deploy(deps, state, handler);
    return [];
  } catch (error) {
    return [`${relative(deps.project, handler.file)}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

async function deploy(deps: HandlersDeps, { deployed, started }: State, handler: BundledHandler): Promise<void> {
  const { definition, name, bundle, functionName } = handler;
  const queues = await ensureQueues(deps.sqs, STAGE, definition);
  const spec: FunctionSpec = {
    name: functionName,
    bundle,
    timeoutSeconds: timingOf(definition).functionTimeout,
    memoryMb: definition.memoryMb,
    environment: { ...deps.environment, MILLRACE_QUEUE_URL: queues.queueUrl },
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
  if (changed && started) deps.say(`${name} was ${before ? 'reloaded' : 'added'}`);
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

/** Answers whether there was anything to do. */
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
