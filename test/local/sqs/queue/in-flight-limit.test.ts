import { describe, expect, it } from 'vitest';
import { deleteMessage } from '../../../../local/sqs/queue/queue-operations.ts';
import { put, queueWith, receiptOf, take } from './queue-fixture.ts';

const LIMIT = 120_000;

describe('a queue with 120,000 messages in flight', () => {
  it('refuses a short poll, returns nothing to a long poll, and serves again after a delete', () => {
    const queue = queueWith();
    for (let count = 0; count < LIMIT + 5; count += 1) put(queue, 'a', 0);
    const { messages } = take(queue, 0, { max: LIMIT + 5 });

    expect(messages).toHaveLength(LIMIT);
    expect(() => take(queue, 0)).toThrow(/Too many messages in flight/);
    expect(take(queue, 0, { longPoll: true }).messages).toEqual([]);

    for (const message of messages.slice(0, 2)) deleteMessage(queue, receiptOf(message), 0);
    expect(take(queue, 0).messages).toHaveLength(2);
  });
});
