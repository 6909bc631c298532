import { queueDoesNotExist } from '../errors.ts';
import type { Message } from '../message/message.ts';
import { nextChange, type Queue } from './queue.ts';

export interface Poll {
  /** Takes the messages for this poll; an empty array if no message is visible. */
  readonly take: () => Message[];
  /** In epoch milliseconds. */
  readonly deadline: number;
}

/** Receives that wait for a message. */
export interface LongPolls {
  /** Resolves with the messages that `take` returned; with none at the deadline or when the client has gone. */
  wait(queue: Queue, poll: Poll, onGone: (leave: () => void) => void): Promise<Message[]>;
  /** Call after a message has become visible, or the time at which one will has changed. */
  poke(queue: Queue): void;
  /** Rejects the waiting receives of a deleted queue. */
  refuse(queue: Queue): void;
  close(): void;
}

interface Waiter extends Poll {
  readonly resolve: (messages: Message[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Waiting {
  readonly queue: Queue;
  readonly now: () => number;
  readonly waiters: Set<Waiter>;
  timer?: NodeJS.Timeout;
  poked: boolean;
}

/** A receive waits at most 20 s, but with a clock set by a test the difference may be larger. */
const LONGEST_TIMER_MS = 21_000;

export function createLongPolls(now: () => number): LongPolls {
  // The entry of a deleted queue is garbage-collected with it.
  const byQueue = new WeakMap<Queue, Waiting>();
  const open = new Set<Waiter>();

  function waitingFor(queue: Queue): Waiting {
    const known = byQueue.get(queue);
    if (known !== undefined) return known;
    const waiting: Waiting = { queue, now, waiters: new Set(), poked: false };
    byQueue.set(queue, waiting);
    return waiting;
  }

  return {
    wait: (queue, poll, onGone) => join(waitingFor(queue), open, poll, onGone),
    poke: (queue) => poke(waitingFor(queue)),
    refuse(queue) {
      for (const waiter of waitingFor(queue).waiters) waiter.reject(queueDoesNotExist());
    },
    close() {
      for (const waiter of open) waiter.resolve([]);
    },
  };
}

async function join(
  waiting: Waiting,
  open: Set<Waiter>,
  poll: Poll,
  onGone: (leave: () => void) => void,
): Promise<Message[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Message[]>();
  const leave = () => {
    open.delete(waiter);
    waiting.waiters.delete(waiter);
    if (waiting.waiters.size === 0) clearTimeout(waiting.timer);
  };
  const settleWith =
    <T>(settle: (value: T) => void) =>
    (value: T) => {
      leave();
      settle(value);
    };
  const waiter: Waiter = { ...poll, resolve: settleWith(resolve), reject: settleWith(reject) };
  open.add(waiter);
  waiting.waiters.add(waiter);
  onGone(() => waiter.resolve([]));
  arm(waiting);
  return promise;
}

function poke(waiting: Waiting): void {
  if (waiting.poked || waiting.waiters.size === 0) return;
  waiting.poked = true;
  // Delayed by one turn: the same turn of the event loop may still deliver the end of a polling client's connection,
  // and that client's poll must not take the message.
  setImmediate(serve, waiting);
}

function serve(waiting: Waiting): void {
  waiting.poked = false;
  let anyLeft = true;
  for (const waiter of waiting.waiters) {
    if (anyLeft) anyLeft = tryToServe(waiter);
    if (!anyLeft && waiter.deadline <= waiting.now()) waiter.resolve([]);
  }
  arm(waiting);
}

/** Returns false if no message was visible. */
function tryToServe(waiter: Waiter): boolean {
  try {
    const messages = waiter.take();
    if (messages.length > 0) waiter.resolve(messages);
    return messages.length > 0;
  } catch (error) {
    waiter.reject(error);
    return true;
  }
}

/** Sets the timer to the next time at which a waiter can be served without a poke. */
function arm(waiting: Waiting): void {
  clearTimeout(waiting.timer);
  if (waiting.waiters.size === 0) return;
  let next = nextChange(waiting.queue) ?? Infinity;
  for (const waiter of waiting.waiters) next = Math.min(next, waiter.deadline);
  const delay = Math.min(Math.max(1, next - waiting.now()), LONGEST_TIMER_MS);
  waiting.timer = setTimeout(serve, delay, waiting).unref();
}
