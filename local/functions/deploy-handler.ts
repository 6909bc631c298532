import { readFile } from 'node:fs/promises';
import type { SQSClient } from '@aws-sdk/client-sqs';
import type { DefinitionData } from '../../core/handler/definition.ts';
import { scaleDelays } from '../../core/handler/retry-policy.ts';
import { timingOf } from '../../core/handler/timing.ts';
import { type Variables, variablesOf, withVariables } from '../../core/handler/variables.ts';
import type { Registration } from '../../core/registry/register-handlers.ts';
import { refuseAll } from '../../core/settings/faults.ts';
import { givenSecrets, givenSettings, lookupIn, missingValues } from '../../core/settings/named-values.ts';
import type { Runner } from '../lambda/runner.ts';
import type { FunctionSpec, MappingSpec } from '../lambda/specs.ts';
import { STAGE } from '../state.ts';
import type { BundledHandler } from './handler-bundles.ts';
import { ensureQueues } from './handler-queues.ts';

export interface HandlerSettings {
  /** The environment of every handler. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where what handlers name is looked up: the variables that set their attempts, settings and secrets. */
  readonly variables: Variables;
}

export interface DeployDeps {
  readonly runner: Runner;
  readonly sqs: SQSClient;
  /** Factor applied to every retry delay before it is written to the registry. */
  readonly retryFactor: number;
}

export interface DeployedVersion extends Registration {
  /** Contents of the function and of its mapping: a difference means that the deployed one must be replaced. */
  readonly code: string;
  readonly mapping: string;
}

/**
 * Deploys a handler, and returns its version and whether that differs from the version before.
 * @throws SettingError that names each setting and secret of its definition without a value
 */
export async function deployHandler(
  deps: DeployDeps,
  handler: BundledHandler,
  { environment, variables }: HandlerSettings,
  before: DeployedVersion | undefined,
): Promise<{ readonly next: DeployedVersion; readonly changed: boolean }> {
  const { bundle, functionName } = handler;
  const definition = withVariables(handler.definition, variables);
  const named = namedVariables(definition, variables);
  const queues = await ensureQueues(deps.sqs, STAGE, definition);
  const spec: FunctionSpec = {
    name: functionName,
    bundle,
    timeoutSeconds: timingOf(definition).functionTimeout,
    memoryMb: definition.memoryMb,
    // The variables of this process are included, which functions do not inherit.
    environment: {
      ...{ ...definition.aws?.environment, ...environment, ...named, ...variablesOf([definition], variables) },
      MILLRACE_QUEUE_URL: queues.queueUrl,
    },
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
  return { next, changed: install(deps.runner, { spec, mapping, before, next }) };
}

const expected = (name: string) => `${name}=… in .env or in the environment`;

/** Returns the variables that the definition names. A deployment reads secrets from Secrets Manager instead. */
function namedVariables(definition: DefinitionData, variables: Variables): Record<string, string> {
  const lookup = lookupIn(variables);
  const sources = { settings: lookup, secrets: lookup, expected: { setting: expected, secret: expected } };
  refuseAll(missingValues(definition, sources));
  return { ...givenSettings(definition, lookup), ...givenSecrets(definition, lookup) };
}

function mappingOf(
  { batch, concurrency }: DefinitionData,
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
