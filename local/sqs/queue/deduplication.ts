import type { Content, Message } from '../message/message.ts';
import type { Queue } from './queue.ts';

const INTERVAL_MS = 5 * 60_000;

/** The response to the first send of a FIFO message. */
export interface SentBefore {
  readonly MessageId: string;
  readonly SequenceNumber: string;
}

/** Sends of the last 5 minutes by deduplication id; not stored. */
const recentSends = new WeakMap<Queue, Map<string, { readonly at: number; readonly answer: SentBefore }>>();

/** Returns the response to the first send, if this send repeats it within 5 minutes. */
export function sentBefore(queue: Queue, content: Content, now: number): SentBefore | undefined {
  const sends = recentSends.get(queue);
  if (sends === undefined || content.deduplicationId === undefined) return undefined;
  for (const [key, { at }] of sends) {
    if (now - at < INTERVAL_MS) break;
    sends.delete(key);
  }
  return sends.get(keyOf(queue, content))?.answer;
}

/** Records a FIFO send and returns the fields that its response adds; no fields on a standard queue. */
export function rememberSend(queue: Queue, message: Message): Partial<SentBefore> {
  if (!queue.settings.fifo) return {};
  const sends = recentSends.get(queue) ?? new Map();
  recentSends.set(queue, sends);
  const answer = { MessageId: message.id, SequenceNumber: sequenceNumber(message) };
  sends.set(keyOf(queue, message.content), { at: message.sentAt, answer });
  return answer;
}

/** Returns 20 digits that increase with every send. */
export function sequenceNumber(message: Message): string {
  return String(message.seq).padStart(20, '0');
}

function keyOf(queue: Queue, content: Content): string {
  const scope = queue.settings.deduplicationPerGroup ? `${content.groupId} ` : '';
  return `${scope}${content.deduplicationId}`;
}
