import { describe, expect, it } from 'vitest';
import { advanceQueue } from '../../../../local/sqs/queue/queue.ts';
import { changeVisibility, deleteMessage, undoReceive } from '../../../../local/sqs/queue/queue-operations.ts';
import { readSettings } from '../../../../local/sqs/queue/queue-settings.ts';
import { bodies, put, queueWith, receiptOf, take } from './queue-fixture.ts';

const DAY = 86_400_000;

describe('the visibility of messages', () => {
  it('ends exactly at the visibility timeout of a receive', () => {
    const queue = queueWith();
    put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 1000 });

    expect(bodies(take(queue, 999).messages)).toEqual([]);
    expect(bodies(take(queue, 1000).messages)).toEqual(['a']);
  });

  it('determines the order: a message that became visible again is served after the others', () => {
    const queue = queueWith();
    for (const body of ['a', 'b', 'c']) put(queue, body, 0);
    take(queue, 0, { max: 1, visibilityMs: 0 });

    expect(bodies(take(queue, 1).messages)).toEqual(['b', 'c', 'a']);
  });

  it('cannot be changed to more than 12 hours after the receive', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 43_200_000 });

    const change = () => changeVisibility(queue, receiptOf(message), 43_200_000, 1);

    expect(change).toThrow(/Total VisibilityTimeout for the message is beyond the limit/);
  });

  it('is that of the queue again in the next receive after a change', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 1000 });
    changeVisibility(queue, receiptOf(message), 10_000, 500);
    expect(bodies(take(queue, 10_499).messages)).toEqual([]);

    take(queue, 10_500, { visibilityMs: 1000 });

    expect(bodies(take(queue, 11_500).messages)).toEqual(['a']);
  });

  it('is unchanged by a delete with the receipt of an earlier receive', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 0 });
    const stale = receiptOf(message);
    take(queue, 1);

    deleteMessage(queue, stale, 2);

    expect(queue.counts).toEqual({ ready: 0, delayed: 0, inFlight: 1 });
  });

  it('returns when a receive is undone, and the receive is not counted', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0);

    undoReceive(queue, receiptOf(message), 5);

    const [again] = take(queue, 6).messages;
    expect(again?.receiveCount).toBe(1);
    expect(again?.firstReceivedAt).toBe(6);
  });

  it('is unchanged when a receive is undone after the message was received again', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 10 });
    const lost = receiptOf(message);
    take(queue, 20);

    undoReceive(queue, lost, 21);

    expect(queue.counts).toEqual({ ready: 0, delayed: 0, inFlight: 1 });
    expect(message.receiveCount).toBe(2);
  });
});

describe('a queue with a redrive policy', () => {
  const redrive = {
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: 'arn:aws:sqs:us-east-1:0:d', maxReceiveCount: 2 }),
  };

  it('returns a message as often as allowed and removes it at the next receive', () => {
    const queue = queueWith(redrive);
    put(queue, 'a', 0);
    const counts = [0, 1].map((now) => take(queue, now, { visibilityMs: 0 }).messages.length);

    const { messages, dead } = take(queue, 2);

    expect(counts).toEqual([1, 1]);
    expect(messages).toEqual([]);
    expect(bodies(dead)).toEqual(['a']);
    expect(queue.messages.size).toBe(0);
  });

  it('fills the batch with the messages after a dead one', () => {
    const queue = queueWith(redrive);
    put(queue, 'old', 0);
    take(queue, 0, { visibilityMs: 0 });
    take(queue, 0, { visibilityMs: 0 });
    put(queue, 'new', 1);

    const { messages, dead } = take(queue, 2, { max: 1 });

    expect([bodies(messages), bodies(dead)]).toEqual([['new'], ['old']]);
  });

  it('returns a message without a limit while its dead-letter queue does not exist', () => {
    const queue = queueWith(redrive);
    put(queue, 'a', 0);
    for (const now of [0, 1, 2]) take(queue, now, { visibilityMs: 0, deadLetters: false });

    const [message] = take(queue, 3, { deadLetters: false }).messages;

    expect(message?.receiveCount).toBe(4);
  });
});

describe('the retention period', () => {
  it('begins with the send, and expires messages in flight and delayed messages too', () => {
    const queue = queueWith({ MessageRetentionPeriod: '60' });
    put(queue, 'ready', 0);
    put(queue, 'delayed', 0, { delayMs: 900_000 });
    put(queue, 'in flight', 0);
    put(queue, 'young', 30_000);
    take(queue, 59_999, { max: 1, visibilityMs: 43_200_000 });

    advanceQueue(queue, 60_000);

    expect([...queue.messages.values()].map((message) => message.content.body)).toEqual(['young']);
  });

  it('applies to existing messages after a change', () => {
    const queue = queueWith({ MessageRetentionPeriod: '60' });
    put(queue, 'a', 0);
    queue.settings = readSettings({ MessageRetentionPeriod: '1209600' }, false);
    queue.expiryFrom = 0;

    expect(bodies(take(queue, 13 * DAY).messages)).toEqual(['a']);
    expect(bodies(take(queue, 14 * DAY).messages)).toEqual([]);
  });
});

describe('a large queue', () => {
  it('receives and deletes in constant time: 50,000 waiting messages cost no more than 500', () => {
    const costOf = (waiting: number) => {
      const queue = queueWith();
      for (let index = 0; index < waiting; index += 1) put(queue, 'a', 0);
      const start = process.threadCpuUsage();
      for (let round = 0; round < 50; round += 1) {
        for (const message of take(queue, 1).messages) deleteMessage(queue, receiptOf(message), 1);
      }
      const { user, system } = process.threadCpuUsage(start);
      return user + system;
    };
    costOf(1000);

    const [few, many] = [costOf(500), costOf(50_000)];

    // Processor time, in microseconds. An iteration over the queue would take a hundred times as much.
    expect(many).toBeLessThan(Math.max(few, 5_000) * 20);
  });

  it('drops the heap entries of messages that are deleted long before they would become visible', () => {
    const queue = queueWith();
    for (let index = 0; index < 20_000; index += 1) {
      put(queue, 'a', 0);
      const [message] = take(queue, 0, { visibilityMs: 43_200_000 }).messages;
      deleteMessage(queue, receiptOf(message!), 0);
    }

    expect(queue.hidden.entries.length).toBeLessThan(2100);
    expect(queue.counts).toEqual({ ready: 0, delayed: 0, inFlight: 0 });
  });
});
