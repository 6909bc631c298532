import { queueDoesNotExist } from '../errors.ts';
import type { Message } from '../message/message.ts';
import { nextChange, type Queue } from './queue.ts';

export interface Poll {
  /** Tries to take messages for this poll. */
  readonly take: () => Message[];
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

/** Receives that wait for a message. */
export interface LongPolls {
  /** Resolves with what `take` brought, or with nothing at the deadline or when `onGone` is called. */
  wait(queue: Queue, poll: Poll, onGone: (leave: () => void) => void): Promise<Message[]>;
  /** Something has become visible in the queue, or when something will has changed. */
  poke(queue: Queue): void;
  /** Refuses the waiting receives of a queue that was deleted. */
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

/** Waits are up to 20 s, but with a passed clock the difference may be anything. */
const LONGEST_TIMER_MS = 21_000;

export function createLongPolls(now: () => number): LongPolls {
  // Queues are few and a deleted one is collected with its entry.
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
  // Not at once: the hang-up of a poll's client may be waiting in the same turn of the event loop, and then its poll
  // must not take the message.
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

/** False when there was nothing to take. */
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

/** Sets the timer for the next moment at which a waiter can be answered without a poke. */
function arm(waiting: Waiting): void {
  clearTimeout(waiting.timer);
  if (waiting.waiters.size === 0) return;
  let next = nextChange(waiting.queue) ?? Infinity;
  for (const waiter of waiting.waiters) next = Math.min(next, waiter.deadline);
  const delay = Math.min(Math.max(1, next - waiting.now()), LONGEST_TIMER_MS);
  waiting.timer = setTimeout(serve, delay, waiting).unref();
}
