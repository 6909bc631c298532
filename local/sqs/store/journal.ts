import type { MoveTask } from '../moves/move-task.ts';
import type { Message } from '../queue/message.ts';
import type { Queue } from '../queue/queue.ts';

/** Hears of every change worth keeping, and says when all of them are kept. */
export interface Journal {
  message(queueName: string, message: Message): void;
  queue(queue: Queue): void;
  queueDeleted(name: string, deletedAt: number): void;
  task(task: MoveTask): void;
  taskForgotten(task: MoveTask): void;
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
