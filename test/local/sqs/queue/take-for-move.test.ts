import { expect, it } from 'vitest';
import { takeForMove } from '../../../../local/sqs/queue/queue-operations.ts';
import { put, queueWith, take } from './queue-fixture.ts';

it('takes only what is visible and counts no receive', () => {
  const queue = queueWith();
  put(queue, 'held', 0);
  put(queue, 'free', 0);
  take(queue, 0, { max: 1 });

  const moved = takeForMove(queue, 1);

  expect(moved?.content.body).toBe('free');
  expect(moved?.receiveCount).toBe(0);
  expect(takeForMove(queue, 1)).toBeUndefined();
});
