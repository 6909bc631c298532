import { randomUUID } from 'node:crypto';
import type { Outgoing, Queues, SendVerdict } from '../../core/aws/queues.ts';
import type { SqsRecord } from '../../core/run/sqs-event.ts';

/** A queue in memory instead of SQS: hands sent messages to the next caller of `take`. */
export class HandOver implements Queues {
  #records: SqsRecord[] = [];
  #waiting: (() => void)[] = [];
  #expected = 0;

  /** Sets how many messages will be sent; after the last one, `take` returns an empty list. */
  expect(messages: number): void {
    this.#expected = messages;
    this.#wake();
  }

  async send(_queueUrl: string, messages: readonly Outgoing[]): Promise<SendVerdict[]> {
    const attributes = { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) };
    for (const { body } of messages) {
      const messageId = randomUUID();
      this.#records.push({ messageId, receiptHandle: messageId, body, attributes });
    }
    this.#wake();
    return messages.map(({ id }) => ({ id, kind: 'sent', reason: '' }));
  }

  /** Waits for a message, then returns up to `most`. */
  async take(most: number): Promise<SqsRecord[]> {
    while (this.#records.length === 0 && this.#expected > 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const taken = this.#records.splice(0, most);
    this.#expected -= taken.length;
    if (this.#expected === 0) this.#wake();
    return taken;
  }

  async makeVisible(): Promise<void> {}

  close(): void {}

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
