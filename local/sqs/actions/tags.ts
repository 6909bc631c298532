import { invalidParameter, missingParameter } from '../errors.ts';
import { type Action, type Input, readObject, readQueue, readStrings } from './input.ts';

/** @throws SqsError InvalidParameterValue */
export function readTags(given: Input): Record<string, string> {
  for (const [key, value] of Object.entries(given)) {
    const fits = key.length >= 1 && key.length <= 128 && typeof value === 'string' && value.length <= 256;
    if (!fits) throw invalidParameter('Tags', key, 'A key has 1 to 128 characters, a value up to 256.');
  }
  return { ...given } as Record<string, string>;
}

export const tagQueue: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const tags = readTags(readObject(input, 'Tags'));
  if (Object.keys(tags).length === 0) throw missingParameter('Tags');
  queue.tags = { ...queue.tags, ...tags };
  broker.journal.queue(queue);
  return {};
};

export const untagQueue: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const keys = new Set(readStrings(input, 'TagKeys'));
  queue.tags = Object.fromEntries(Object.entries(queue.tags).filter(([key]) => !keys.has(key)));
  broker.journal.queue(queue);
  return {};
};

export const listQueueTags: Action = (broker, input) => {
  const { tags } = readQueue(broker, input);
  return Object.keys(tags).length === 0 ? {} : { Tags: tags };
};
