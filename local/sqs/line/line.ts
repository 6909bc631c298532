import type { Message } from '../message/message.ts';

/** The order of a queue's ready messages. Messages that are no longer `ready` are skipped. */
export interface Line {
  /** Adds a message that has become ready. */
  add(message: Message): void;
  /** Removes and returns the next message; `receive` identifies the ReceiveMessage call. */
  take(now: number, receive: number): Message | undefined;
  /** Records that a message is in flight. */
  tookOff(message: Message, receive: number): void;
  /** Records that a message is no longer in flight: visible again, deleted or moved. */
  landed(message: Message): void;
}
