import type { Content, Message } from '../message/message.ts';
import type { Queue } from './queue.ts';

const INTERVAL_MS = 5 * 60_000;

/** What the first send of a FIFO message was answered with. */
export interface SentBefore {
  readonly MessageId: string;
  readonly SequenceNumber: string;
}

/** Sends of the last 5 minutes by deduplication id; forgotten with the process. */
const memory = new WeakMap<Queue, Map<string, { readonly at: number; readonly answer: SentBefore }>>();

/** The first send's answer when this is a repetition within 5 minutes. */
export function sentBefore(queue: Queue, content: Content, now: number): SentBefore | undefined {
  const sends = memory.get(queue);
  if (sends === undefined || content.deduplicationId === undefined) return undefined;
  for (const [key, { at }] of sends) {
    if (now - at < INTERVAL_MS) break;
    sends.delete(key);
  }
  return sends.get(keyOf(queue, content))?.answer;
}

/** Notes a FIFO send and gives what its answer adds; nothing on a standard queue. */
export function rememberSend(queue: Queue, message: Message): Partial<SentBefore> {
  if (!queue.settings.fifo) return {};
  const sends = memory.get(queue) ?? new Map();
  memory.set(queue, sends);
  const answer = { MessageId: message.id, SequenceNumber: sequenceNumber(message) };
  sends.set(keyOf(queue, message.content), { at: message.sentAt, answer });
  return answer;
}

/** 20 digits, growing with every send. */
export function sequenceNumber(message: Message): string {
  return String(message.seq).padStart(20, '0');
}

function keyOf(queue: Queue, content: Content): string {
  const scope = queue.settings.deduplicationPerGroup ? `${content.groupId} ` : '';
  return `${scope}${content.deduplicationId}`;
}
