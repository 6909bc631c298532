import type { MessageAttribute } from './message-attributes.ts';

/** The content from the sender. It never changes, so a move between queues passes on the same object. */
export interface Content {
  readonly body: string;
  readonly bodyMd5: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>>;
  readonly attributesMd5?: string;
  readonly traceHeader?: string;
  readonly groupId?: string;
  readonly deduplicationId?: string;
}

/** `delayed` and `inFlight` messages are hidden until `visibleAt`; `gone` is deleted, expired or moved. */
export type MessageState = 'ready' | 'delayed' | 'inFlight' | 'gone';

/** A message in a queue. Times are in epoch milliseconds. */
export interface Message {
  /** Sequence number over all queues, in order of arrival; the key in the store. */
  readonly seq: number;
  readonly id: string;
  readonly content: Content;
  readonly sentAt: number;
  /** Start of the retention: the send, or in a FIFO queue the move to the dead-letter queue. */
  readonly retainedFrom: number;
  /** Set by a move to a dead-letter queue. */
  readonly sourceArn?: string;
  state: MessageState;
  visibleAt: number;
  /** Number of the receive that returned the newest receipt handle. */
  receipt: number;
  /** Number of receives over all queues. */
  receiveCount: number;
  firstReceivedAt?: number;
  lastReceivedAt?: number;
}

export type MessageIdentity = Pick<Message, 'seq' | 'id'>;

/** Creates the message that a send or a redrive adds to a queue. */
export function newMessage(identity: MessageIdentity, content: Content, now: number, delayMs: number): Message {
  return {
    ...identity,
    content,
    sentAt: now,
    retainedFrom: now,
    state: delayMs > 0 ? 'delayed' : 'ready',
    visibleAt: now + delayMs,
    receipt: 0,
    receiveCount: 0,
  };
}
