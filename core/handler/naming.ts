import type { OwnFunction } from '../own-functions.ts';

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
