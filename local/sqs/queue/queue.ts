import { addDue, createDueHeap, type DueHeap, nextDue, takeDue } from '../line/due-heap.ts';
import { createFairLine } from '../line/fair-line.ts';
import { createFifoLine } from '../line/fifo-line.ts';
import type { Line } from '../line/line.ts';
import type { Message } from '../message/message.ts';
import type { QueueSettings } from './queue-settings.ts';

const EXPIRY_INTERVAL_MS = 1000;

/** Called for every change of a message that must survive a restart; a `gone` message is to be deleted. */
export type OnChange = (queueName: string, message: Message) => void;

/**
 * A queue as a state machine, without clock, timers or wire format: every function has `now`, in milliseconds, as a
 * parameter.
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

/** Adds a message in its `state`, after a send, a move or a restart. */
export function putMessage(queue: Queue, message: Message): void {
  queue.messages.set(message.id, message);
  queue.expiryFrom = Math.min(queue.expiryFrom, message.retainedFrom + queue.settings.retentionMs);
  enter(queue, message);
  if (message.state === 'inFlight') queue.line.tookOff(message, queue.receives);
  queue.onChange(queue.name, message);
}

/** Advances the queue to `now`: due messages become ready, expired messages are deleted. */
export function advanceQueue(queue: Queue, now: number): void {
  for (let message = takeDue(queue.hidden, now); message !== undefined; message = takeDue(queue.hidden, now)) {
    makeReady(queue, message, message.visibleAt);
  }
  if (now >= queue.expiryFrom) expire(queue, now);
}

/** Returns the next time at which a hidden message becomes visible; undefined if no message is hidden. */
export function nextChange(queue: Queue): number | undefined {
  return nextDue(queue.hidden);
}

/** Hides a message, which is counted as in flight or delayed, until a time. */
export function hide(queue: Queue, message: Message, until: number): void {
  message.visibleAt = until;
  addDue(queue.hidden, message, queue.counts.inFlight + queue.counts.delayed);
}

/** Makes a hidden message ready; `at` is the time at which it became visible. */
export function makeReady(queue: Queue, message: Message, at: number): void {
  leave(queue, message);
  if (message.state === 'inFlight') queue.line.landed(message);
  message.state = 'ready';
  message.visibleAt = at;
  enter(queue, message);
}

/** Removes a message from the queue. Its entry in the line or heap is skipped later. */
export function forget(queue: Queue, message: Message): Message {
  leave(queue, message);
  if (message.state === 'inFlight') queue.line.landed(message);
  message.state = 'gone';
  queue.messages.delete(message.id);
  queue.onChange(queue.name, message);
  return message;
}

/** Counts a message under its state, and adds it to the line or to the heap of hidden messages. */
export function enter(queue: Queue, message: Message): void {
  if (message.state === 'gone') return;
  queue.counts[message.state] += 1;
  if (message.state === 'ready') queue.line.add(message);
  else hide(queue, message, message.visibleAt);
}

/** Reverts the count of `enter`; call it before the state changes. */
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
  // Expiry iterates over the whole queue, so it runs at most once a second.
  queue.expiryFrom = Math.max(oldest + queue.settings.retentionMs, now + EXPIRY_INTERVAL_MS);
}
