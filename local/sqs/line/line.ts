import type { Message } from '../message/message.ts';

/** Decides which ready message of a queue is next. Messages no longer `ready` are skipped when met. */
export interface Line {
  /** A message has become ready. */
  add(message: Message): void;
  /** Removes and gives the next message; `receive` tells calls of one ReceiveMessage from those of another. */
  take(now: number, receive: number): Message | undefined;
  /** A message has gone in flight. */
  tookOff(message: Message, receive: number): void;
  /** A message in flight has come back, been deleted or moved. */
  landed(message: Message): void;
}
