import { checkRedriveTarget } from '../broker/broker.ts';
import { SqsError } from '../errors.ts';
import { advanceQueue, type Queue } from '../queue/queue.ts';
import { DEFAULT_ATTRIBUTES, readSettings, SETTABLE_ATTRIBUTES } from '../queue/queue-settings.ts';
import { type Action, type Input, readObject, readQueue, readStrings } from './input.ts';

const COMPUTED: Readonly<Record<string, (queue: Queue) => string>> = {
  QueueArn: (queue) => queue.arn,
  ApproximateNumberOfMessages: (queue) => String(queue.counts.ready),
  ApproximateNumberOfMessagesNotVisible: (queue) => String(queue.counts.inFlight),
  ApproximateNumberOfMessagesDelayed: (queue) => String(queue.counts.delayed),
  CreatedTimestamp: (queue) => String(Math.floor(queue.createdAt / 1000)),
  LastModifiedTimestamp: (queue) => String(Math.floor(queue.modifiedAt / 1000)),
};

const FIFO_DEFAULTS: Readonly<Record<string, string>> = {
  ContentBasedDeduplication: 'false',
  DeduplicationScope: 'queue',
  FifoThroughputLimit: 'perQueue',
};

export const getQueueAttributes: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const names = readStrings(input, 'AttributeNames');
  const unknown = names.find(
    (name) => !(name === 'All' || SETTABLE_ATTRIBUTES.has(name) || Object.hasOwn(COMPUTED, name)),
  );
  if (unknown !== undefined) throw new SqsError('InvalidAttributeName', `Unknown Attribute ${unknown}.`);
  if (names.length === 0) return {};

  advanceQueue(queue, broker.now());
  const all = allAttributes(queue);
  const wanted = names.includes('All') ? Object.keys(all) : names.filter((name) => Object.hasOwn(all, name));
  return wanted.length === 0 ? {} : { Attributes: Object.fromEntries(wanted.map((name) => [name, all[name]])) };
};

function allAttributes(queue: Queue): Record<string, string | undefined> {
  const computed = Object.entries(COMPUTED).map(([name, compute]) => [name, compute(queue)]);
  const fifo = queue.settings.fifo ? FIFO_DEFAULTS : {};
  return { ...Object.fromEntries(computed), ...DEFAULT_ATTRIBUTES, ...fifo, ...queue.settings.attributes };
}

export const setQueueAttributes: Action = (broker, input) => {
  const queue = readQueue(broker, input);
  const given = readObject(input, 'Attributes');
  checkFifoUnchanged(queue, given);
  const settings = readSettings({ ...queue.settings.attributes, ...given }, queue.settings.fifo);
  // Only what is set now is checked: a dead-letter queue deleted since must not block other changes.
  if (given.RedrivePolicy) checkRedriveTarget(broker, queue.name, settings);

  advanceQueue(queue, broker.now());
  queue.settings = settings;
  queue.modifiedAt = broker.now();
  queue.expiryFrom = 0;
  broker.journal.queue(queue);
  broker.polls.poke(queue);
  return {};
};

function checkFifoUnchanged(queue: Queue, given: Input): void {
  if (given.FifoQueue !== undefined && given.FifoQueue !== String(queue.settings.fifo)) {
    throw new SqsError('InvalidAttributeValue', 'Invalid value for the parameter FifoQueue: it cannot be changed.');
  }
}
