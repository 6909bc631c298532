import { describe, expect, it } from 'vitest';
import { deleteMessage } from '../../../../local/sqs/queue/queue-operations.ts';
import { bodies, put, queueWith, receiptOf, take } from '../queue/queue-fixture.ts';

describe('the line of a standard queue', () => {
  it('serves quiet groups before a group that has 30 messages and more than a tenth of all in flight', () => {
    const queue = queueWith();
    for (let index = 0; index < 60; index += 1) put(queue, `noisy${index}`, 0, { groupId: 'noisy' });
    for (let index = 0; index < 3; index += 1) take(queue, 0);
    put(queue, 'quiet', 1, { groupId: 'quiet' });
    put(queue, 'none', 1);

    const served = bodies(take(queue, 2).messages);

    expect(served.slice(0, 2)).toEqual(['quiet', 'none']);
    expect(served).toHaveLength(10);
  });

  it('keeps the order of arrival while a group has fewer than 30 messages in flight', () => {
    const queue = queueWith();
    for (let index = 0; index < 60; index += 1) put(queue, `noisy${index}`, 0, { groupId: 'noisy' });
    for (const max of [10, 10, 9]) take(queue, 0, { max });
    put(queue, 'quiet', 1, { groupId: 'quiet' });

    expect(bodies(take(queue, 2, { max: 1 }).messages)).toEqual(['noisy29']);
  });

  it('does not count messages that are visible again as in flight', () => {
    const queue = queueWith();
    for (let index = 0; index < 60; index += 1) put(queue, 'noisy', 0, { groupId: 'noisy' });
    for (const now of [0, 0, 20, 20]) take(queue, now, { visibilityMs: 10 });
    put(queue, 'quiet', 21, { groupId: 'quiet' });

    expect(bodies(take(queue, 22, { max: 1 }).messages)).toEqual(['noisy']);
  });

  it('serves the noisy group with the fewest messages in flight first', () => {
    const queue = queueWith();
    for (const groupId of ['x', 'y']) {
      for (let index = 0; index < 40; index += 1) put(queue, groupId, 0, { groupId });
    }
    const inFlight = Array.from({ length: 7 }, () => take(queue, 0).messages).flat();
    const ofY = inFlight.filter(({ content }) => content.groupId === 'y');
    for (const message of ofY.slice(0, 3)) deleteMessage(queue, receiptOf(message), 0);

    const served = bodies(take(queue, 1, { max: 5 }).messages);

    // 35 messages of x and 32 of y are in flight; from 35 each on, the groups alternate.
    expect(served.slice(0, 3)).toEqual(['y', 'y', 'y']);
    expect(served.slice(3).sort()).toEqual(['x', 'y']);
  });

  it('treats a noisy group as quiet five minutes after the last send to it', () => {
    const queue = queueWith();
    for (let index = 0; index < 50; index += 1) put(queue, 'noisy', 0, { groupId: 'noisy' });
    for (let index = 0; index < 3; index += 1) take(queue, 0, { visibilityMs: 43_200_000 });
    put(queue, 'quiet', 1, { groupId: 'quiet' });

    expect(bodies(take(queue, 300_000, { max: 1 }).messages)).toEqual(['noisy']);
  });
});
