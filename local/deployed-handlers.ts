import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { type CatalogFailure, type HandlerEntry, loadCatalog } from '../core/catalog.ts';
import type { Database } from '../core/database.ts';
import type { HandlerDefinition } from '../core/handler.ts';
import { type DeployedHandler, registerHandlers } from '../core/jobs/register-handlers.ts';
import { queueName } from '../core/naming.ts';
import { scaleDelays } from '../core/retry-policy.ts';
import { timingOf } from '../core/timing.ts';
import { handlerAlias, handlerEntry } from '../infra/bundle.ts';
import { ensureQueues } from './handler-queues.ts';
import { bundleFunction } from './lambda/bundle.ts';
import type { FunctionSpec, MappingSpec, Runner } from './lambda/runner.ts';

/** The stage in the names of queues and functions on one machine. */
export const STAGE = 'local';

export interface HandlersDeps {
  /** The folder with the handler files. */
  readonly folder: string;
  /** Where bundles are put. */
  readonly bundles: string;
  readonly project: string;
  readonly runner: Runner;
  readonly sqs: SQSClient;
  readonly db: Database;
  /** What every function finds in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Every retry delay is multiplied by this before it goes into the registry. */
  readonly retryFactor: number;
  readonly say: (line: string) => void;
}

interface Deployed extends DeployedHandler {
  /** Whatever the running function and its mapping were made of; differs when either has to be replaced. */
  readonly code: string;
  readonly mapping: string;
}

export interface DeployedHandlers {
  readonly list: () => readonly DeployedHandler[];
  /** Makes queues, functions, mappings and registry what the folder says. Calls are served one after another. */
  sync(): Promise<void>;
}

/** Deploys the handlers of a folder to one machine, and again whenever `sync` is called. */
export function openHandlers(deps: HandlersDeps): DeployedHandlers {
  const deployed = new Map<string, Deployed>();
  let last: Promise<void> = Promise.resolve();
  return {
    list: () => [...deployed.values()],
    sync: () => {
      last = last.catch(() => undefined).then(() => syncOnce(deps, deployed));
      return last;
    },
  };
}

async function syncOnce(deps: HandlersDeps, deployed: Map<string, Deployed>): Promise<void> {
  const { handlers, failures } = await loadCatalog(deps.folder);
  for (const failure of failures) deps.say(failureLine(deps.project, failure));
  await Promise.all(handlers.map((entry) => deployOrSay(deps, deployed, entry)));
  // A file that is broken just now keeps what was deployed of it; a file that is gone takes its handler along.
  const kept = new Set([...handlers.map(({ name }) => name), ...failures.map(({ file }) => nameOfFile(file))]);
  for (const [name, { functionName }] of deployed) {
    if (kept.has(name)) continue;
    deps.runner.removeFunction(functionName);
    deployed.delete(name);
    deps.say(`${name} was removed; its jobs wait`);
  }
  await registerHandlers(deps.db, [...deployed.values()]);
}

async function deployOrSay(deps: HandlersDeps, deployed: Map<string, Deployed>, entry: HandlerEntry): Promise<void> {
  try {
    await deploy(deps, deployed, entry);
  } catch (error) {
    deps.say(`${relative(deps.project, entry.file)}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function deploy(deps: HandlersDeps, deployed: Map<string, Deployed>, entry: HandlerEntry): Promise<void> {
  const { definition, name, file } = entry;
  const functionName = queueName(STAGE, definition);
  const bundle = join(deps.bundles, functionName, 'index.mjs');
  const root = join(import.meta.dirname, '..');
  await bundleFunction({ entry: join(root, handlerEntry), outFile: bundle, alias: { [handlerAlias]: file } });
  const queues = await ensureQueues(deps.sqs, STAGE, definition);
  const spec: FunctionSpec = {
    name: functionName,
    bundle,
    timeoutSeconds: timingOf(definition).functionTimeout,
    memoryMb: definition.memoryMb,
    environment: { ...deps.environment, MILLRACE_QUEUE_URL: queues.queueUrl },
  };
  const mapping = mappingOf(definition, functionName, queues);
  const next: Deployed = {
    definition: { ...definition, retry: scaleDelays(definition.retry, deps.retryFactor) },
    queueUrl: queues.queueUrl,
    deadLetterQueueUrl: queues.deadLetterQueueUrl,
    functionName,
    code: JSON.stringify(spec) + (await readFile(bundle, 'utf8')),
    mapping: JSON.stringify(mapping),
  };
  install(deps, { spec, mapping, before: deployed.get(name), next });
  deployed.set(name, next);
}

function mappingOf(
  { batch, concurrency }: HandlerDefinition,
  functionName: string,
  { queueUrl, queueArn }: { queueUrl: string; queueArn: string },
): MappingSpec {
  const { size: batchSize, windowSeconds } = batch;
  return { functionName, queueUrl, queueArn, batchSize, windowSeconds, maximumConcurrency: concurrency };
}

function install(
  { runner, say }: HandlersDeps,
  {
    spec,
    mapping,
    before,
    next,
  }: { spec: FunctionSpec; mapping: MappingSpec; before?: Deployed | undefined; next: Deployed },
): void {
  if (before?.mapping !== next.mapping) {
    if (before) runner.removeFunction(spec.name);
    runner.addFunction(spec);
    runner.addMapping(mapping);
  } else if (before.code !== next.code) {
    runner.replaceFunction(spec);
  } else return;
  if (before) say(`${next.definition.jobType} was reloaded`);
}

function nameOfFile(file: string): string {
  return (file.split('/').at(-1) ?? '').replace(/\.ts$/, '').replaceAll('-', '_');
}

function failureLine(project: string, { file, line, message }: CatalogFailure): string {
  return `${relative(project, file)}${line === undefined ? '' : `:${line}`}: ${message}`;
}
