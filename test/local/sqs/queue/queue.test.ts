import { describe, expect, it } from 'vitest';
import { advanceQueue } from '../../../../local/sqs/queue/queue.ts';
import { changeVisibility, deleteMessage, undoReceive } from '../../../../local/sqs/queue/queue-operations.ts';
import { readSettings } from '../../../../local/sqs/queue/queue-settings.ts';
import { bodies, put, queueWith, receiptOf, take } from './queue-fixture.ts';

const DAY = 86_400_000;

describe('visibility', () => {
  it('hides a received message to the millisecond', () => {
    const queue = queueWith();
    put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 1000 });

    expect(bodies(take(queue, 999).messages)).toEqual([]);
    expect(bodies(take(queue, 1000).messages)).toEqual(['a']);
  });

  it('serves by when messages became visible, so a returned one does not hold up the rest', () => {
    const queue = queueWith();
    for (const body of ['a', 'b', 'c']) put(queue, body, 0);
    take(queue, 0, { max: 1, visibilityMs: 0 });

    expect(bodies(take(queue, 1).messages)).toEqual(['b', 'c', 'a']);
  });

  it('refuses to hide a message longer than 12 hours after its receive', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 43_200_000 });

    const change = () => changeVisibility(queue, receiptOf(message), 43_200_000, 1);

    expect(change).toThrow(/Total VisibilityTimeout for the message is beyond the limit/);
  });

  it('does not keep a changed visibility for the next receive', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 1000 });
    changeVisibility(queue, receiptOf(message), 10_000, 500);
    expect(bodies(take(queue, 10_499).messages)).toEqual([]);

    take(queue, 10_500, { visibilityMs: 1000 });

    expect(bodies(take(queue, 11_500).messages)).toEqual(['a']);
  });

  it('leaves a message that is deleted by the receipt of an earlier receive', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0, { visibilityMs: 0 });
    const stale = receiptOf(message);
    take(queue, 1);

    deleteMessage(queue, stale, 2);

    expect(queue.counts).toEqual({ ready: 0, delayed: 0, inFlight: 1 });
  });

  it('takes back a receive that reached nobody, uncounted', () => {
    const queue = queueWith();
    const message = put(queue, 'a', 0);
    take(queue, 0);

    undoReceive(queue, receiptOf(message), 5);

    const [again] = take(queue, 6).messages;
    expect(again?.receiveCount).toBe(1);
    expect(again?.firstReceivedAt).toBe(6);
  });

  it('leaves alone what was received again before a receive is taken back', () => {
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

describe('dead letters', () => {
  const redrive = {
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: 'arn:aws:sqs:us-east-1:0:d', maxReceiveCount: 2 }),
  };

  it('gives out a message as often as allowed and takes it out on the next receive', () => {
    const queue = queueWith(redrive);
    put(queue, 'a', 0);
    const counts = [0, 1].map((now) => take(queue, now, { visibilityMs: 0 }).messages.length);

    const { messages, dead } = take(queue, 2);

    expect(counts).toEqual([1, 1]);
    expect(messages).toEqual([]);
    expect(bodies(dead)).toEqual(['a']);
    expect(queue.messages.size).toBe(0);
  });

  it('fills the batch beyond dead messages', () => {
    const queue = queueWith(redrive);
    put(queue, 'old', 0);
    take(queue, 0, { visibilityMs: 0 });
    take(queue, 0, { visibilityMs: 0 });
    put(queue, 'new', 1);

    const { messages, dead } = take(queue, 2, { max: 1 });

    expect([bodies(messages), bodies(dead)]).toEqual([['new'], ['old']]);
  });

  it('keeps giving a message out when there is no dead-letter queue to take it', () => {
    const queue = queueWith(redrive);
    put(queue, 'a', 0);
    for (const now of [0, 1, 2]) take(queue, now, { visibilityMs: 0, deadLetters: false });

    const [message] = take(queue, 3, { deadLetters: false }).messages;

    expect(message?.receiveCount).toBe(4);
  });
});

describe('retention', () => {
  it('expires a message by its send time, also while it is in flight or delayed', () => {
    const queue = queueWith({ MessageRetentionPeriod: '60' });
    put(queue, 'ready', 0);
    put(queue, 'delayed', 0, { delayMs: 900_000 });
    put(queue, 'in flight', 0);
    put(queue, 'young', 30_000);
    take(queue, 59_999, { max: 1, visibilityMs: 43_200_000 });

    advanceQueue(queue, 60_000);

    expect([...queue.messages.values()].map((message) => message.content.body)).toEqual(['young']);
  });

  it('follows a retention period that is changed', () => {
    const queue = queueWith({ MessageRetentionPeriod: '60' });
    put(queue, 'a', 0);
    queue.settings = readSettings({ MessageRetentionPeriod: '1209600' }, false);
    queue.expiryFrom = 0;

    expect(bodies(take(queue, 13 * DAY).messages)).toEqual(['a']);
    expect(bodies(take(queue, 14 * DAY).messages)).toEqual([]);
  });
});

describe('size', () => {
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

    // Microseconds of the processor. A walk over the queue would be a hundred times as many.
    expect(many).toBeLessThan(Math.max(few, 5_000) * 20);
  });

  it('drops what the heap no longer needs when messages are deleted long before they would show', () => {
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
