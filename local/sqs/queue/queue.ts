import { addDue, createDueHeap, type DueHeap, nextDue, takeDue } from '../line/due-heap.ts';
import { createFairLine } from '../line/fair-line.ts';
import { createFifoLine } from '../line/fifo-line.ts';
import type { Line } from '../line/line.ts';
import type { Message } from '../message/message.ts';
import type { QueueSettings } from './queue-settings.ts';

const EXPIRY_PAUSE_MS = 1000;

/** Told of every message that changed in a way worth keeping; `gone` messages are to be forgotten. */
export type OnChange = (queueName: string, message: Message) => void;

/**
 * One queue as a state machine: no clock, no timers, no wire. Every function takes `now` in milliseconds. Ready
 * messages are served by when they became visible.
 */
export interface Queue {
  readonly name: string;
  readonly arn: string;
  readonly createdAt: number;
  settings: QueueSettings;
  modifiedAt: number;
  tags: Record<string, string>;
  purgedAt?: number;
  readonly messages: Map<string, Message>;
  readonly counts: { ready: number; delayed: number; inFlight: number };
  readonly hidden: DueHeap;
  line: Line;
  receives: number;
  /** No message expires before this. */
  expiryFrom: number;
  readonly onChange: OnChange;
}

export type QueueSeed = Pick<Queue, 'name' | 'arn' | 'createdAt' | 'modifiedAt' | 'settings' | 'tags' | 'onChange'>;

export function createQueue(seed: QueueSeed): Queue {
  const counts = { ready: 0, delayed: 0, inFlight: 0 };
  const line = seed.settings.fifo ? createFifoLine() : createFairLine(() => counts.inFlight);
  const hidden = createDueHeap();
  return { ...seed, messages: new Map(), counts, hidden, line, receives: 0, expiryFrom: Infinity };
}

/** Puts a message in, as its `state` says: after a send, a move or a restart. */
export function putMessage(queue: Queue, message: Message): void {
  queue.messages.set(message.id, message);
  queue.expiryFrom = Math.min(queue.expiryFrom, message.retainedFrom + queue.settings.retentionMs);
  enter(queue, message);
  if (message.state === 'inFlight') queue.line.tookOff(message, queue.receives);
  queue.onChange(queue.name, message);
}

/** Brings the queue to `now`: what is due becomes ready, what is too old goes. */
export function advanceQueue(queue: Queue, now: number): void {
  for (let message = takeDue(queue.hidden, now); message !== undefined; message = takeDue(queue.hidden, now)) {
    makeReady(queue, message, message.visibleAt);
  }
  if (now >= queue.expiryFrom) expire(queue, now);
}

/** The next moment at which a hidden message shows, or undefined. */
export function nextChange(queue: Queue): number | undefined {
  return nextDue(queue.hidden);
}

/** Hides a message that is counted as in flight or delayed, until a time. */
export function hide(queue: Queue, message: Message, until: number): void {
  message.visibleAt = until;
  addDue(queue.hidden, message, queue.counts.inFlight + queue.counts.delayed);
}

/** Ends a message's hiding; `at` is when it became visible. */
export function makeReady(queue: Queue, message: Message, at: number): void {
  leave(queue, message);
  if (message.state === 'inFlight') queue.line.landed(message);
  message.state = 'ready';
  message.visibleAt = at;
  enter(queue, message);
}

/** Takes a message out of the queue. Its place in line or heap is dropped when met. */
export function forget(queue: Queue, message: Message): Message {
  leave(queue, message);
  if (message.state === 'inFlight') queue.line.landed(message);
  message.state = 'gone';
  queue.messages.delete(message.id);
  queue.onChange(queue.name, message);
  return message;
}

/** Counts a message under its state and puts it where that state belongs: the line or the heap. */
export function enter(queue: Queue, message: Message): void {
  if (message.state === 'gone') return;
  queue.counts[message.state] += 1;
  if (message.state === 'ready') queue.line.add(message);
  else hide(queue, message, message.visibleAt);
}

/** The opposite of `enter`, before the state changes. */
export function leave(queue: Queue, message: Message): void {
  if (message.state !== 'gone') queue.counts[message.state] -= 1;
}

export function isExpired(queue: Queue, message: Message, now: number): boolean {
  return now >= message.retainedFrom + queue.settings.retentionMs;
}

function expire(queue: Queue, now: number): void {
  let oldest = Infinity;
  for (const message of queue.messages.values()) {
    if (isExpired(queue, message, now)) forget(queue, message);
    else oldest = Math.min(oldest, message.retainedFrom);
  }
  // A walk over the whole queue, so not more than once a second.
  queue.expiryFrom = Math.max(oldest + queue.settings.retentionMs, now + EXPIRY_PAUSE_MS);
}
