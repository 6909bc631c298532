import { queueDoesNotExist } from './errors.ts';
import type { Message } from './message.ts';
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
  readonly waiters: Set<Waiter>;
  timer?: NodeJS.Timeout;
  poked: boolean;
}

/** Timers longer than this overflow in Node; a waiter never waits longer than 20 s anyway. */
const LONGEST_TIMER_MS = 21_000;

export function createLongPolls(now: () => number): LongPolls {
  const byQueue = new Map<Queue, Waiting>();

  function serve(queue: Queue, waiting: Waiting): void {
    waiting.poked = false;
    let anyLeft = true;
    for (const waiter of waiting.waiters) {
      const messages: Message[] | undefined = anyLeft ? attempt(waiting, waiter) : [];
      if (messages === undefined) continue;
      anyLeft = messages.length > 0;
      if (messages.length > 0 || waiter.deadline <= now()) settle(waiting, waiter, messages);
    }
    arm(queue, waiting);
  }

  function arm(queue: Queue, waiting: Waiting): void {
    clearTimeout(waiting.timer);
    if (waiting.waiters.size === 0) {
      byQueue.delete(queue);
      return;
    }
    let next = nextChange(queue) ?? Infinity;
    for (const waiter of waiting.waiters) next = Math.min(next, waiter.deadline);
    const delay = Math.min(Math.max(1, next - now()), LONGEST_TIMER_MS);
    waiting.timer = setTimeout(serve, delay, queue, waiting).unref();
  }

  return {
    wait(queue, poll, onGone) {
      const waiting = byQueue.get(queue) ?? { waiters: new Set(), poked: false };
      byQueue.set(queue, waiting);
      return new Promise((resolve, reject) => {
        const waiter = { ...poll, resolve, reject };
        waiting.waiters.add(waiter);
        onGone(() => settle(waiting, waiter, []));
        arm(queue, waiting);
      });
    },
    poke(queue) {
      const waiting = byQueue.get(queue);
      if (waiting === undefined || waiting.poked) return;
      waiting.poked = true;
      // Not at once: the hang-up of a poll's client may be waiting in the same turn of the event loop, and then its
      // poll must not take the message.
      setImmediate(serve, queue, waiting);
    },
    refuse(queue) {
      const waiting = byQueue.get(queue);
      for (const waiter of waiting?.waiters ?? []) waiter.reject(queueDoesNotExist());
      waiting?.waiters.clear();
      if (waiting !== undefined) arm(queue, waiting);
    },
    close() {
      for (const waiting of byQueue.values()) {
        clearTimeout(waiting.timer);
        for (const waiter of waiting.waiters) settle(waiting, waiter, []);
      }
      byQueue.clear();
    },
  };
}

function attempt(waiting: Waiting, waiter: Waiter): Message[] | undefined {
  try {
    return waiter.take();
  } catch (error) {
    waiting.waiters.delete(waiter);
    waiter.reject(error);
    return undefined;
  }
}

function settle(waiting: Waiting, waiter: Waiter, messages: Message[]): void {
  if (waiting.waiters.delete(waiter)) waiter.resolve(messages);
}
