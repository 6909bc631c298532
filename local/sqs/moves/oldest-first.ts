import type { Message } from '../queue/message.ts';
import { advanceQueue, forget, type Queue } from '../queue/queue.ts';
import { takeForMove } from '../queue/queue-operations.ts';

/** Takes the messages of a queue for a move task, one by one; undefined when none is visible. */
export type TakeOldest = (queue: Queue, now: number) => Message | undefined;

/**
 * A redrive begins with the oldest message (SQS developer guide, dead-letter queue redrive): one that was looked at and
 * given back has lost its place in line, not its age. A FIFO queue keeps its own order.
 */
export function createTakeOldest(): TakeOldest {
  let waiting: Message[] = [];
  return (queue, now) => {
    if (queue.settings.fifo) return takeForMove(queue, now);
    advanceQueue(queue, now);
    const next = nextReady(waiting);
    if (next !== undefined) return forget(queue, next);
    // Sorted anew only when the last order is used up, so a move costs each message once on average.
    waiting = [...queue.messages.values()].filter(isReady).sort(youngestFirst);
    const first = nextReady(waiting);
    return first === undefined ? undefined : forget(queue, first);
  };
}

function nextReady(waiting: Message[]): Message | undefined {
  for (let message = waiting.pop(); message !== undefined; message = waiting.pop()) {
    if (isReady(message)) return message;
  }
  return undefined;
}

function isReady(message: Message): boolean {
  return message.state === 'ready';
}

function youngestFirst(one: Message, other: Message): number {
  return other.sentAt - one.sentAt || other.seq - one.seq;
}
