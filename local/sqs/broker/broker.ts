import { randomUUID } from 'node:crypto';
import { invalidParameter, queueDoesNotExist } from '../errors.ts';
import type { Message, MessageIdentity } from '../message/message.ts';
import type { LongPolls } from '../queue/long-polls.ts';
import { createQueue, putMessage, type Queue, type QueueSeed } from '../queue/queue.ts';
import { receiveMessages } from '../queue/queue-operations.ts';
import type { QueueSettings } from '../queue/queue-settings.ts';
import { allowsSource } from '../queue/redrive-policy.ts';
import type { Journal } from './journal.ts';
import type { MessageMoveTask } from './move-task.ts';

/** All queues of the one account, and what they need of each other. */
export interface Broker {
  readonly region: string;
  readonly accountId: string;
  readonly now: () => number;
  readonly queues: Map<string, Queue>;
  /** Deletion time by name, for the 60 seconds in which a name is not free. */
  readonly deletedAt: Map<string, number>;
  readonly tasks: MessageMoveTask[];
  journal: Journal;
  readonly polls: LongPolls;
  /** `http://host:port`, known once the server listens. */
  endpoint: string;
  lastSeq: number;
  /** Set when the server closes: nothing is to be done any more. */
  stopped: boolean;
}

export function queueArn(broker: Broker, name: string): string {
  return `arn:aws:sqs:${broker.region}:${broker.accountId}:${name}`;
}

export function queueUrl(broker: Broker, name: string): string {
  return `${broker.endpoint}/${broker.accountId}/${name}`;
}

export function queueByArn(broker: Broker, arn: string): Queue | undefined {
  const queue = broker.queues.get(arn.slice(arn.lastIndexOf(':') + 1));
  return queue?.arn === arn ? queue : undefined;
}

/** Any host and port will do: old URLs go on working after a restart on another port. */
export function queueByUrl(broker: Broker, url: string): Queue {
  const queue = broker.queues.get(url.slice(url.lastIndexOf('/') + 1));
  if (queue === undefined) throw queueDoesNotExist();
  return queue;
}

export function addQueue(broker: Broker, seed: Omit<QueueSeed, 'arn' | 'onChange'>): Queue {
  const queue = createQueue({ ...seed, arn: queueArn(broker, seed.name), onChange: broker.journal.message });
  broker.queues.set(queue.name, queue);
  return queue;
}

export function nextIdentity(broker: Broker): MessageIdentity {
  broker.lastSeq += 1;
  return { seq: broker.lastSeq, id: randomUUID() };
}

export interface DeliverOptions {
  readonly max: number;
  readonly visibilityMs: number;
  readonly longPoll: boolean;
}

/** Receives, and moves what was received too often to the dead-letter queue. */
export function deliver(broker: Broker, queue: Queue, options: DeliverOptions): Message[] {
  const policy = queue.settings.redrive;
  const target = policy === undefined ? undefined : queueByArn(broker, policy.deadLetterTargetArn);
  const now = broker.now();
  const { messages, dead } = receiveMessages(queue, { ...options, now, deadLetters: target !== undefined });
  if (target !== undefined && dead.length > 0) {
    for (const message of dead) putMessage(target, deadLetter(message, queue, now));
    broker.polls.poke(target);
  }
  return messages;
}

/** The same message in the dead-letter queue: id, send time and receive count stay. */
function deadLetter(message: Message, source: Queue, now: number): Message {
  const { fifo } = source.settings;
  const content = fifo ? { ...message.content, deduplicationId: message.id } : message.content;
  const retainedFrom = fifo ? now : message.retainedFrom;
  return { ...message, content, retainedFrom, sourceArn: source.arn, state: 'ready', visibleAt: now };
}

export function deadLetterSources(broker: Broker, target: Queue): Queue[] {
  return [...broker.queues.values()].filter((queue) => queue.settings.redrive?.deadLetterTargetArn === target.arn);
}

/**
 * Checks a queue's redrive policy against the dead-letter queue it names.
 * @throws SqsError InvalidParameterValue: no such queue, of the other kind, or its RedriveAllowPolicy says no
 */
export function checkRedriveTarget(broker: Broker, name: string, settings: QueueSettings): void {
  if (settings.redrive === undefined) return;
  const refuse = (reason: string) => invalidParameter('RedrivePolicy', settings.attributes.RedrivePolicy, reason);
  const target = queueByArn(broker, settings.redrive.deadLetterTargetArn);
  if (target === undefined) throw refuse('Dead letter target does not exist.');
  if (target.settings.fifo !== settings.fifo) {
    throw refuse(`Dead-letter queue must be same type of queue as the source: ${settings.fifo ? 'FIFO' : 'standard'}.`);
  }
  if (!allowsSource(target.settings.redriveAllow, queueArn(broker, name))) {
    throw refuse('The RedriveAllowPolicy of the dead-letter queue does not allow this queue as a source.');
  }
}
