import type { Message } from '@aws-sdk/client-sqs';
import { sleep } from './retry-throttled.ts';

/** The longest that SQS lets a receive wait. */
export const LONG_POLL_SECONDS = 20;
const ASK_EVERY_MS = 100;
/** What Lambda hands over at most. */
const FULL_BYTES = 6 * 1024 * 1024;

export interface Filling {
  readonly batchSize: number;
  readonly windowSeconds: number;
  /** Receives at most so many messages, and waits so many whole seconds for the first. */
  readonly receive: (most: number, waitSeconds: number) => Promise<Message[]>;
  /** Ends the batch as it is. */
  readonly signal: AbortSignal;
}

/**
 * One batch: the messages at hand, and what comes within the window that begins with them. As on AWS, it is ready when
 * its size, its window or 6 MB is reached, so nothing waits while there are messages.
 */
export async function fillBatch(first: readonly Message[], filling: Filling): Promise<Message[]> {
  const { batchSize, windowSeconds, receive, signal } = filling;
  const messages = [...first];
  const until = Date.now() + windowSeconds * 1000;
  let bytes = sizeOf(messages);
  while (messages.length > 0 && messages.length < batchSize && bytes < FULL_BYTES && !signal.aborted) {
    const left = until - Date.now();
    if (left <= 0) break;
    const wait = Math.min(Math.floor(left / 1000), LONG_POLL_SECONDS);
    const more = await receive(batchSize - messages.length, wait);
    messages.push(...more);
    bytes += sizeOf(more);
    // SQS waits whole seconds only; in the rest of the window we ask now and then.
    if (more.length === 0 && wait === 0) await sleep(Math.min(left, ASK_EVERY_MS), signal);
  }
  return messages;
}

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((sum, { Body = '' }) => sum + Buffer.byteLength(Body), 0);
}
