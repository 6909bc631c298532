import type { Message } from '../message/message.ts';
import type { Queue } from '../queue/queue.ts';
import type { MessageMoveTask } from './move-task.ts';

/** Records every change that must survive a restart. */
export interface Journal {
  message(queueName: string, message: Message): void;
  queue(queue: Queue): void;
  queueDeleted(name: string, deletedAt: number): void;
  task(task: MessageMoveTask): void;
  taskForgotten(task: MessageMoveTask): void;
  /** Resolves when every change recorded so far would survive a kill of the process. */
  committed(): Promise<void>;
  close(): Promise<void>;
}

/** Records nothing: queues exist until the process ends. */
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
