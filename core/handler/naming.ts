/** The address of a handler. Only this file derives names from it. */
export interface HandlerAddress {
  readonly jobType: string;
  readonly routingKey: string;
}

/**
 * The form of a job type. It contains no `__`, which separates it from the routing key in the name of an environment
 * variable: `MILLRACE_RETRY_DELAY_index_record__vector`.
 */
export const JOB_TYPE = /^[a-z](?:_?[a-z0-9])*_?$/;
export const JOB_TYPE_EXPECTED = 'lower-case letters, digits and _, a letter first, without __';

/** Returns the name of a handler: `send_reminder`, or `index_record.vector` with a routing key. */
export function handlerName({ jobType, routingKey }: HandlerAddress): string {
  return routingKey === '' ? jobType : `${jobType}.${routingKey}`;
}

/** Returns the address of the handler with this name. */
export function toAddress(name: string): HandlerAddress {
  const [jobType = '', routingKey = ''] = name.split('.');
  return { jobType, routingKey };
}

/** Returns the address that text in the form of a keyed handler's name denotes; undefined for any other text. */
export function keyedAddress(text: string): HandlerAddress | undefined {
  return /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/.test(text) ? toAddress(text) : undefined;
}

/** The longest name of a handler, in characters: a job type and a routing key have 60 together, and a dot. */
export const LONGEST_NAME = 61;

/** Returns the name of the queue and the function: `millrace-dev-send_reminder`. AWS names have `-` for the dot. */
export function queueName(stage: string, address: HandlerAddress): string {
  return `millrace-${stage}-${handlerName(address).replace('.', '-')}`;
}

export function deadLetterQueueName(stage: string, address: HandlerAddress): string {
  return `${queueName(stage, address)}-dlq`;
}

/** Returns the name of a function that belongs to no handler: `millrace-dev-dispatcher`. */
export function functionName(stage: string, part: OwnFunction): string {
  return `millrace-${stage}-${part}`;
}

/** Returns the name of the log group of a function: the one that Lambda uses by itself. */
export function logGroupName(functionName: string): string {
  return `/aws/lambda/${functionName}`;
}

/** The alias that SQS invokes in place of a function with provisioned concurrency, which only a version can have. */
export const LIVE_ALIAS = 'live';

/** Returns the name of the group of a stage's schedules. */
export function scheduleGroupName(stage: string): string {
  return `millrace-${stage}`;
}

/** Returns the name at the end of a queue's URL. */
export function queueNameOf(queueUrl: string): string {
  return queueUrl.split('/').at(-1) ?? queueUrl;
}

/** Returns the stage in the name of a queue. */
export function stageOf(queue: string): string {
  return /^millrace-([a-z0-9]+)-/.exec(queue)?.[1] ?? '<stage>';
}

/** Returns the file name in the handlers folder: `send-reminder.ts`, `index-record.vector.ts`. */
export function handlerFile(address: HandlerAddress): string {
  return `${handlerName(address).replaceAll('_', '-')}.ts`;
}

/** The functions that belong to no handler, and their limits. */
export const OWN_FUNCTIONS = {
  /** Longer than the 125 s of one run. */
  dispatcher: { timeoutSeconds: 150, memoryMb: 256 },
  'dlq-mirror': { timeoutSeconds: 60, memoryMb: 256 },
  /** Shorter than the timeout of the gateway, 30 s. */
  api: { timeoutSeconds: 29, memoryMb: 256 },
  /**
   * Shorter than the 900 s of the function that waits for them and answers CloudFormation; run longer migrations from
   * the command line first.
   */
  migrate: { timeoutSeconds: 840, memoryMb: 256 },
  registry: { timeoutSeconds: 840, memoryMb: 256 },
} as const;

export type OwnFunction = keyof typeof OWN_FUNCTIONS;
