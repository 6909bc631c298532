import { invalidParameter, SqsError } from '../errors.ts';
import type { Message } from '../message/message.ts';
import type { Receipt } from '../message/receipt-handle.ts';
import { advanceQueue, enter, forget, hide, isExpired, leave, makeReady, type Queue } from './queue.ts';
import { isExhausted } from './redrive-policy.ts';

const IN_FLIGHT_LIMIT = 120_000;
const LONGEST_VISIBILITY_MS = 43_200_000;

export interface ReceiveOptions {
  readonly max: number;
  readonly visibilityMs: number;
  readonly now: number;
  /** False if the dead-letter queue does not exist: messages beyond the receive limit then stay in the queue. */
  readonly deadLetters: boolean;
  /** True for a long poll, which returns no messages where a short poll is refused. */
  readonly longPoll?: boolean;
}

export interface Received {
  readonly messages: Message[];
  /** Messages removed because they have reached the receive limit; the caller puts them in the dead-letter queue. */
  readonly dead: Message[];
}

/**
 * Receives up to `max` messages.
 * @throws SqsError OverLimit for a short poll at 120,000 messages in flight; "if you use long polling, Amazon SQS
 * returns no error messages" (SQS developer guide, message quotas)
 */
export function receiveMessages(queue: Queue, options: ReceiveOptions): Received {
  const { now, max } = options;
  advanceQueue(queue, now);
  const room = queue.settings.fifo ? max : Math.min(max, IN_FLIGHT_LIMIT - queue.counts.inFlight);
  if (room <= 0 && options.longPoll !== true) {
    throw new SqsError('OverLimit', 'Too many messages in flight: delete some received messages.');
  }
  queue.receives += 1;
  const policy = options.deadLetters ? queue.settings.redrive : undefined;
  const taken: Received = { messages: [], dead: [] };
  while (taken.messages.length < room) {
    const message = queue.line.take(now, queue.receives);
    if (message === undefined) break;
    if (isExpired(queue, message, now)) forget(queue, message);
    else if (isExhausted(policy, message.receiveCount)) taken.dead.push(forget(queue, message));
    else taken.messages.push(handOut(queue, message, options));
  }
  // Only after the loop: otherwise a visibility timeout of 0 could return a message twice in one response.
  if (options.visibilityMs === 0) for (const message of taken.messages) makeReady(queue, message, now);
  return taken;
}

/** Undoes a receive whose response could not be delivered. */
export function undoReceive(queue: Queue, { messageId, receipt }: Receipt, now: number): void {
  const message = queue.messages.get(messageId);
  if (message === undefined || message.receipt !== receipt || message.state !== 'inFlight') return;
  message.receiveCount -= 1;
  if (message.receiveCount === 0) delete message.firstReceivedAt;
  makeReady(queue, message, now);
  queue.onChange(queue.name, message);
}

/**
 * Removes one ready message for a move task, in the order of the line; counts no receive.
 */
export function takeForMove(queue: Queue, now: number): Message | undefined {
  advanceQueue(queue, now);
  queue.receives += 1;
  const message = queue.line.take(now, queue.receives);
  return message === undefined ? undefined : forget(queue, message);
}

/** Deletes a message by its receipt. Does nothing if the message is gone or was received again. */
export function deleteMessage(queue: Queue, { messageId, receipt }: Receipt, now: number): void {
  advanceQueue(queue, now);
  const message = queue.messages.get(messageId);
  if (message !== undefined && message.receipt === receipt) forget(queue, message);
}

/**
 * Hides a message in flight for `visibilityMs` from now; 0 makes it visible at once.
 * @throws SqsError MessageNotInflight, or InvalidParameterValue if the handle is not the newest, the message is gone,
 * or it would stay hidden for more than 12 hours after its receive
 */
export function changeVisibility(
  queue: Queue,
  { messageId, receipt }: Receipt,
  visibilityMs: number,
  now: number,
): void {
  advanceQueue(queue, now);
  const message = queue.messages.get(messageId);
  if (message === undefined || message.receipt !== receipt) {
    const reason = 'Message does not exist or is not available for visibility timeout change.';
    throw invalidParameter('ReceiptHandle', messageId, reason);
  }
  if (message.state !== 'inFlight')
    throw new SqsError('MessageNotInflight', 'The message referred to is not in flight.');
  if (now + visibilityMs > (message.lastReceivedAt ?? now) + LONGEST_VISIBILITY_MS) {
    const reason = 'Total VisibilityTimeout for the message is beyond the limit [43200 seconds]';
    throw invalidParameter('VisibilityTimeout', visibilityMs / 1000, reason);
  }
  if (visibilityMs === 0) makeReady(queue, message, now);
  else hide(queue, message, now + visibilityMs);
  queue.onChange(queue.name, message);
}

export function purgeMessages(queue: Queue): void {
  for (const message of queue.messages.values()) forget(queue, message);
}

function handOut(queue: Queue, message: Message, { now, visibilityMs }: ReceiveOptions): Message {
  leave(queue, message);
  message.receipt += 1;
  message.receiveCount += 1;
  message.firstReceivedAt ??= now;
  message.lastReceivedAt = now;
  message.state = 'inFlight';
  message.visibleAt = now + visibilityMs;
  enter(queue, message);
  queue.line.tookOff(message, queue.receives);
  queue.onChange(queue.name, message);
  return message;
}
