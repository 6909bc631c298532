import { addQueue, type Broker, checkRedriveTarget, deadLetterSources, queueUrl } from '../broker/broker.ts';
import { invalidParameter, queueDoesNotExist, SqsError } from '../errors.ts';
import type { Queue } from '../queue/queue.ts';
import { purgeMessages } from '../queue/queue-operations.ts';
import { checkQueueName, DEFAULT_ATTRIBUTES, readSettings } from '../queue/queue-settings.ts';
import { type Action, type Input, readInteger, readObject, readQueue, readString, requireString } from './input.ts';
import { readTags } from './tags.ts';

const NAME_PAUSE_MS = 60_000;
const PURGE_PAUSE_MS = 60_000;
const MOST_LISTED = 1000;

export const createQueue: Action = (broker, input) => {
  const name = requireString(input, 'QueueName');
  const given = readObject(input, 'Attributes');
  const fifo = given.FifoQueue === 'true';
  checkQueueName(name, fifo);
  const settings = readSettings(given, fifo);
  checkRedriveTarget(broker, name, settings);
  const existing = broker.queues.get(name);
  if (existing !== undefined) return sameOrRefuse(broker, existing, settings.attributes);

  const now = broker.now();
  if (now - (broker.deletedAt.get(name) ?? -Infinity) < NAME_PAUSE_MS) {
    const message = 'You must wait 60 seconds after deleting a queue before you can create another with the same name.';
    throw new SqsError('QueueDeletedRecently', message);
  }
  broker.deletedAt.delete(name);
  const tags = readTags(readObject(input, 'tags'));
  broker.journal.queue(addQueue(broker, { name, createdAt: now, modifiedAt: now, settings, tags }));
  return { QueueUrl: queueUrl(broker, name) };
};

function sameOrRefuse(broker: Broker, queue: Queue, wanted: Readonly<Record<string, string>>): object {
  for (const [name, value] of Object.entries(wanted)) {
    if ((queue.settings.attributes[name] ?? DEFAULT_ATTRIBUTES[name]) === value) continue;
    const message = `A queue already exists with the same name and a different value for attribute ${name}`;
    throw new SqsError('QueueNameExists', message);
  }
  return { QueueUrl: queueUrl(broker, queue.name) };
}

export const getQueueUrl: Action = (broker, input) => {
  const name = requireString(input, 'QueueName');
  if (!broker.queues.has(name)) throw queueDoesNotExist();
  return { QueueUrl: queueUrl(broker, name) };
};

export const deleteQueue: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const now = broker.now();
  purgeMessages(queue);
  broker.queues.delete(queue.name);
  broker.deletedAt.set(queue.name, now);
  broker.journal.queueDeleted(queue.name, now);
  broker.polls.refuse(queue);
  return {};
};

export const purgeQueue: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const now = broker.now();
  if (now - (queue.purgedAt ?? -Infinity) < PURGE_PAUSE_MS) {
    const message = `Only one PurgeQueue operation on ${queue.name} is allowed every 60 seconds.`;
    throw new SqsError('PurgeQueueInProgress', message);
  }
  queue.purgedAt = now;
  purgeMessages(queue);
  broker.journal.queue(queue);
  return {};
};

export const listQueues: Action = (broker, input) => {
  const prefix = readString(input, 'QueueNamePrefix') ?? '';
  const { names, next } = page(
    [...broker.queues.keys()].filter((name) => name.startsWith(prefix)),
    input,
  );
  return { ...(names.length === 0 ? {} : { QueueUrls: names.map((name) => queueUrl(broker, name)) }), ...next };
};

export const listDeadLetterSourceQueues: Action = (broker, input) => {
  const target = readQueue(broker, input);
  const { names, next } = page(
    deadLetterSources(broker, target).map((queue) => queue.name),
    input,
  );
  return { queueUrls: names.map((name) => queueUrl(broker, name)), ...next };
};

/** A token is the last name seen, so that queues made or deleted between pages do no harm. */
function page(all: string[], input: Input): { names: string[]; next: { NextToken?: string } } {
  const asked = readInteger(input, 'MaxResults', 1, MOST_LISTED);
  const token = readString(input, 'NextToken');
  const after = token === undefined ? '' : Buffer.from(token, 'base64').toString();
  if (token !== undefined && !/^[A-Za-z0-9_.-]+$/.test(after))
    throw invalidParameter('NextToken', token, 'Not a token.');
  const rest = all.filter((name) => name > after).sort();
  const names = rest.slice(0, asked ?? MOST_LISTED);
  const last = names.at(-1);
  // AWS gives a token only to those who asked for pages.
  const more = asked !== undefined && last !== undefined && rest.length > names.length;
  return { names, next: more ? { NextToken: Buffer.from(last).toString('base64') } : {} };
}
