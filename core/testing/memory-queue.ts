import type { Queues } from '../aws/queues.ts';
import type { SqsRecord } from '../run/sqs-event.ts';

/** A message, and the queue that it was sent to. */
export interface Delivered {
  readonly queueUrl: string;
  readonly record: SqsRecord;
}

/** Queues in this process, which accept every message and deliver it once. */
export interface MemoryQueue extends Queues {
  /** Returns the oldest message and removes it; undefined without one. */
  take(): Delivered | undefined;
}

export function openMemoryQueue(): MemoryQueue {
  const messages: Delivered[] = [];
  let sent = 0;
  return {
    send: async (queueUrl, outgoing) =>
      outgoing.map(({ id, body }) => {
        sent += 1;
        const attributes = { ApproximateReceiveCount: '1', SentTimestamp: String(sent) };
        messages.push({ queueUrl, record: { messageId: `m-${sent}`, receiptHandle: `r-${sent}`, body, attributes } });
        return { id, kind: 'sent', reason: '' };
      }),
    makeVisible: async () => undefined,
    close: () => undefined,
    take: () => messages.shift(),
  };
}
