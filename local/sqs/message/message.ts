import type { MessageAttribute } from './message-attributes.ts';

/** What the sender wrote. It never changes, so moves between queues pass it on as it is. */
export interface Content {
  readonly body: string;
  readonly bodyMd5: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>>;
  readonly attributesMd5?: string;
  readonly traceHeader?: string;
  readonly groupId?: string;
  readonly deduplicationId?: string;
}

/** `delayed` and `inFlight` are hidden until `visibleAt`; `gone` is deleted, expired or moved away. */
export type MessageState = 'ready' | 'delayed' | 'inFlight' | 'gone';

/** One message in one queue. Times are milliseconds since the epoch. */
export interface Message {
  /** Order of arrival over all queues; the key in the store. */
  readonly seq: number;
  readonly id: string;
  readonly content: Content;
  readonly sentAt: number;
  /** When retention began: the send, or for FIFO queues the move into the dead-letter queue. */
  readonly retainedFrom: number;
  /** Set by a move to a dead-letter queue. */
  readonly sourceArn?: string;
  state: MessageState;
  visibleAt: number;
  /** Which receive the newest receipt handle belongs to. */
  receipt: number;
  /** Receives over all queues. */
  receiveCount: number;
  firstReceivedAt?: number;
  lastReceivedAt?: number;
}

export type MessageIdentity = Pick<Message, 'seq' | 'id'>;

/** A message as it enters a queue by a send or a redrive. */
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
