import type { Message } from '../message/message.ts';
import type { Queue } from '../queue/queue.ts';
import type { MessageMoveTask } from './move-task.ts';

/** Hears of every change worth keeping, and says when all of them are kept. */
export interface Journal {
  message(queueName: string, message: Message): void;
  queue(queue: Queue): void;
  queueDeleted(name: string, deletedAt: number): void;
  task(task: MessageMoveTask): void;
  taskForgotten(task: MessageMoveTask): void;
  /** Resolves when everything told so far is safe from a killed process. */
  committed(): Promise<void>;
  close(): Promise<void>;
}

/** Keeps nothing: queues live as long as the process. */
export function createMemoryJournal(): Journal {
  return {
    message: () => undefined,
    queue: () => undefined,
    queueDeleted: () => undefined,
    task: () => undefined,
    taskForgotten: () => undefined,
    committed: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
