import type { Message } from '@aws-sdk/client-sqs';
import { sleep } from './retry-throttled.ts';

/** The longest wait of a receive in SQS. */
export const LONG_POLL_SECONDS = 20;
const POLL_MS = 100;
/** Largest payload of an invocation in Lambda. */
const MAX_BYTES = 6 * 1024 * 1024;

export interface Filling {
  readonly batchSize: number;
  readonly windowSeconds: number;
  /** Receives up to `most` messages and waits up to `waitSeconds` (a whole number) for the first. */
  readonly receive: (most: number, waitSeconds: number) => Promise<Message[]>;
  /** Closes the batch as it is. */
  readonly signal: AbortSignal;
}

/**
 * Collects one batch: the messages received first, and those that arrive within the window, which begins with them. As
 * on AWS, the batch is complete when it reaches its size, its window or 6 MB, so it never waits while messages are
 * visible.
 */
export async function fillBatch(first: readonly Message[], filling: Filling): Promise<Message[]> {
  const { batchSize, windowSeconds, receive, signal } = filling;
  const messages = [...first];
  const until = Date.now() + windowSeconds * 1000;
  let bytes = sizeOf(messages);
  while (messages.length > 0 && messages.length < batchSize && bytes < MAX_BYTES && !signal.aborted) {
    const left = until - Date.now();
    if (left <= 0) break;
    const wait = Math.min(Math.floor(left / 1000), LONG_POLL_SECONDS);
    const more = await receive(batchSize - messages.length, wait);
    messages.push(...more);
    bytes += sizeOf(more);
    // SQS waits whole seconds only; the rest of the window is polled.
    if (more.length === 0 && wait === 0) await sleep(Math.min(left, POLL_MS), signal);
  }
  return messages;
}

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((sum, { Body = '' }) => sum + Buffer.byteLength(Body), 0);
}
