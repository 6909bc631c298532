/** The names that hang on a handler's address, derived here and nowhere else. */
export interface HandlerAddress {
  readonly jobType: string;
  readonly routingKey: string;
}

/** `send_reminder`, or `index_record.vector` with a routing key: how people and logs call a handler. */
export function handlerName({ jobType, routingKey }: HandlerAddress): string {
  return routingKey === '' ? jobType : `${jobType}.${routingKey}`;
}

/** `millrace-dev-send_reminder`: the queue and the function. A dot is not allowed in AWS names, so it becomes `-`. */
export function queueName(stage: string, address: HandlerAddress): string {
  return `millrace-${stage}-${handlerName(address).replace('.', '-')}`;
}

export function deadLetterQueueName(stage: string, address: HandlerAddress): string {
  return `${queueName(stage, address)}-dlq`;
}

/** A function that is no handler's: `millrace-dev-dispatcher`. */
export function functionName(stage: string, part: OwnFunction): string {
  return `millrace-${stage}-${part}`;
}

/** Of the schedules of a stage. */
export function scheduleGroupName(stage: string): string {
  return `millrace-${stage}`;
}

/** The name at the end of a queue's URL. */
export function queueNameOf(queueUrl: string): string {
  return queueUrl.split('/').at(-1) ?? queueUrl;
}

/** `send-reminder.ts`, `index-record.vector.ts`: the file in the handlers folder. */
export function handlerFile(address: HandlerAddress): string {
  return `${handlerName(address).replaceAll('_', '-')}.ts`;
}

/** The functions that are no handler's, and with what they are deployed. */
export const OWN_FUNCTIONS = {
  /** Longer than the 125 s for which one run goes on. */
  dispatcher: { timeoutSeconds: 150, memoryMb: 256 },
  'dlq-mirror': { timeoutSeconds: 60, memoryMb: 256 },
  /** The gateway before it gives up after 30 s. */
  api: { timeoutSeconds: 29, memoryMb: 256 },
  /** As long as Lambda lets a function run; longer migrations are made from the command line first. */
  migrate: { timeoutSeconds: 900, memoryMb: 256 },
  registry: { timeoutSeconds: 900, memoryMb: 256 },
} as const;

export type OwnFunction = keyof typeof OWN_FUNCTIONS;
