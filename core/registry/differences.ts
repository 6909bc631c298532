import type { FoundFunction, FoundMapping, FoundOwn, FoundQueue, FoundSchedule } from '../aws/deployed.ts';
import type { DefinitionData } from '../handler/definition.ts';
import {
  deadLetterQueueName,
  functionName,
  handlerName,
  LIVE_ALIAS,
  OWN_FUNCTIONS,
  type OwnFunction,
  queueName,
  queueNameOf,
} from '../handler/naming.ts';
import type { RetryPolicy } from '../handler/retry-policy.ts';
import {
  DEAD_LETTER_RETENTION_SECONDS,
  MAX_RECEIVE_COUNT,
  SOURCE_RETENTION_SECONDS,
  timingOf,
} from '../handler/timing.ts';
import type { RegisteredSettings } from './read-registry.ts';
import { type RegistryRow, registryRow } from './register-handlers.ts';

type Value = string | number | boolean | null | undefined;

/** Returns a sentence for each difference between the deployment and the code. */
function differences(subject: string, pairs: readonly (readonly [what: string, is: Value, says: Value])[]): string[] {
  return pairs
    .filter(([, is, says]) => is !== says)
    .map(([what, is, says]) => `${subject}: ${what} is ${is ?? 'not set'}, but ${says ?? 'not set'} in the code`);
}

export function queueDifferences(stage: string, definition: DefinitionData, found: FoundQueue | undefined): string[] {
  const name = queueName(stage, definition);
  if (found === undefined) return [`${name} does not exist`];
  const { redrive } = found;
  return differences(name, [
    ['the visibility timeout', found.visibilityTimeout, timingOf(definition).visibilityTimeout],
    ['the retention', found.retention, SOURCE_RETENTION_SECONDS],
    ['the dead-letter queue', redrive && nameInArn(redrive.deadLetterArn), deadLetterQueueName(stage, definition)],
    ['maxReceiveCount', redrive?.maxReceiveCount, MAX_RECEIVE_COUNT],
  ]);
}

export function deadLetterQueueDifferences(
  stage: string,
  definition: DefinitionData,
  found: FoundQueue | undefined,
): string[] {
  const name = deadLetterQueueName(stage, definition);
  if (found === undefined) return [`${name} does not exist`];
  return differences(name, [
    ['the retention', found.retention, DEAD_LETTER_RETENTION_SECONDS],
    // The mirror would not see a message that SQS moved on to another queue.
    ['its own dead-letter queue', found.redrive?.deadLetterArn ?? 'none', 'none'],
  ]);
}

export function functionDifferences(
  stage: string,
  definition: DefinitionData,
  found: FoundFunction | undefined,
): string[] {
  const says = { timeoutSeconds: timingOf(definition).functionTimeout, memoryMb: definition.memoryMb };
  const name = queueName(stage, definition);
  return [...limitDifferences(name, says, found), ...(found?.own ? ownDifferences(name, definition, found.own) : [])];
}

/** Compares what the definition states about its function on AWS. */
function ownDifferences(name: string, { aws = {} }: DefinitionData, found: FoundOwn): string[] {
  const { ephemeralStorage = 512, tracing, layers = [] } = aws;
  // The region is that of the deployment.
  const plain = (arns: readonly string[]) =>
    arns.map((arn) => arn.split(':').toSpliced(3, 1).join(':')).join(', ') || 'empty';
  return differences(name, [
    ['the temporary storage', found.ephemeralStorage, ephemeralStorage],
    // Without a value, the stage decides.
    ...(tracing === undefined ? [] : [['tracing', found.tracing, tracing] as const]),
    ['the list of layers', plain(found.layers), plain(layers)],
  ]);
}

/** Returns the differences of a function that belongs to no handler. */
export function ownFunctionDifferences(stage: string, part: OwnFunction, found: FoundFunction | undefined): string[] {
  // A stage may omit the API.
  if (part === 'api' && found === undefined) return [];
  return limitDifferences(functionName(stage, part), OWN_FUNCTIONS[part], found);
}

function limitDifferences(
  name: string,
  says: { readonly timeoutSeconds: number; readonly memoryMb: number },
  found: FoundFunction | undefined,
): string[] {
  if (found === undefined) return [`${name} does not exist`];
  return differences(name, [
    ['the timeout', found.timeout, says.timeoutSeconds],
    ['the memory', found.memoryMb, says.memoryMb],
  ]);
}

export function mappingDifferences(
  stage: string,
  definition: DefinitionData,
  found: readonly FoundMapping[],
): string[] {
  const name = queueName(stage, definition);
  const mapping = found.find(({ queueArn }) => nameInArn(queueArn) === name);
  const strange = found
    .filter((one) => one !== mapping)
    .map(({ queueArn }) => `${name} has another mapping from ${queueArn}`);
  if (mapping === undefined) return [`${name} has no mapping from its queue`, ...strange];
  return [
    ...differences(name, [
      // A mapping keeps working during an update.
      ['the mapping', mapping.state === 'Updating' ? 'Enabled' : mapping.state, 'Enabled'],
      ['the alias', mapping.alias, definition.aws?.provisionedConcurrency && LIVE_ALIAS],
      ['the batch size', mapping.batchSize, definition.batch.size],
      ['the batch window', mapping.batchWindow, definition.batch.windowSeconds],
      ['the maximum concurrency', mapping.concurrency, definition.concurrency],
      ['ReportBatchItemFailures', mapping.partialResponses, true],
    ]),
    ...strange,
  ];
}

/** Returns the differences of a schedule, whose function has the same name. */
export function scheduleDifferences(name: string, found: FoundSchedule | undefined): string[] {
  if (found === undefined) return [`${name} does not exist`];
  return differences(name, [
    ['the state', found.enabled ? 'enabled' : 'disabled', 'enabled'],
    ['the rate', found.expression, 'rate(1 minute)'],
    ['the target', nameInArn(found.target), name],
  ]);
}

/** Compares the registry, which the deployment wrote, with the code. */
export function registryDifferences(
  stage: string,
  definitions: readonly DefinitionData[],
  registered: readonly RegisteredSettings[],
): string[] {
  const known = new Map(registered.map((row) => [handlerName(addressOf(row)), row]));
  const missing = definitions.filter((definition) => !known.has(handlerName(definition)));
  const names = new Set(definitions.map(handlerName));
  const strange = [...known.keys()].filter((name) => !names.has(name));
  return [
    ...missing.map((definition) => `${handlerName(definition)} is in the code but not registered`),
    ...strange.map((name) => `${name} is registered but not in the code`),
    ...definitions.flatMap((definition) => {
      const row = known.get(handlerName(definition));
      return row === undefined ? [] : rowDifferences(stage, definition, row);
    }),
  ];
}

function rowDifferences(stage: string, definition: DefinitionData, row: RegisteredSettings): string[] {
  const says: RegistryRow = registryRow(definition);
  const numbers = COMPARED.map((column) => [column, row[column], says[column]] as const);
  return differences(handlerName(definition), [
    ...numbers,
    ['the retry policy', policyText(row.retry_policy), policyText(says.retry_policy)],
    ['the queue', queueNameOf(row.queue_url), queueName(stage, definition)],
    ['the dead-letter queue', queueNameOf(row.dead_letter_queue_url), deadLetterQueueName(stage, definition)],
    ['the function', row.function_name, queueName(stage, definition)],
  ]);
}

const COMPARED = [
  ...(['timeout_seconds', 'running_lease_seconds', 'dispatched_lease_seconds', 'visibility_seconds'] as const),
  ...(['max_attempts', 'concurrency', 'batch_size', 'cap', 'on_dead_letter'] as const),
] as const;

/** Returns equal text for equal policies, regardless of the order of their fields. */
function policyText(policy: RetryPolicy): string {
  return JSON.stringify(policy, Object.keys(policy).toSorted());
}

function addressOf({ job_type, routing_key }: RegisteredSettings) {
  return { jobType: job_type, routingKey: routing_key };
}

function nameInArn(arn: string): string {
  return arn.split(':').at(-1) ?? arn;
}
