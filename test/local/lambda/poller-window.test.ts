import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openQueue, type QueueFixture } from './queue-fixture.ts';
import { handler, openRunner, type RunnerFixture } from './runner-fixture.ts';

let queue: QueueFixture;
let fixture: RunnerFixture;
beforeEach(async () => {
  queue = await openQueue();
  fixture = await openRunner(queue.endpoint);
});
afterEach(async () => {
  await fixture.close();
  await queue.close();
});

/** A function that prints the size of its batches. */
async function map(mapping: { batchSize: number; windowSeconds: number }): Promise<void> {
  await fixture.add('f', handler('console.log(event.Records.length);'));
  const { url: queueUrl, arn: queueArn } = queue;
  fixture.runner.addMapping({ functionName: 'f', maximumConcurrency: 2, queueUrl, queueArn, ...mapping });
}
const lines = () => fixture.lines();

test('a window gathers more than one receive gives', async () => {
  await map({ batchSize: 25, windowSeconds: 1 });

  for (let batch = 0; batch < 3; batch += 1) await queue.sendBatch(Array.from({ length: 10 }, (_, n) => String(n)));

  await eventually(() => expect(lines()).toEqual(['25', '5']));
});

test('a window is not waited out while messages are there: batches are full, one after the other', async () => {
  for (let batch = 0; batch < 100; batch += 1) {
    await queue.sendBatch(Array.from({ length: 10 }, (_, n) => String(n)));
  }

  await map({ batchSize: 100, windowSeconds: 1 });

  const sizes = await eventually(
    () => {
      const seen = lines().map(Number);
      expect(seen.reduce((sum, size) => sum + size, 0)).toBe(1_000);
      return seen;
    },
    { timeout: 60_000 },
  );

  // Two batches may be under way when the messages run out.
  expect(sizes.filter((size) => size < 100).length).toBeLessThanOrEqual(2);
});

test('a message that comes within the last second of a window belongs to its batch', async () => {
  await map({ batchSize: 100, windowSeconds: 1 });

  await queue.send('first');
  await eventually(async () => expect((await queue.depth()).inFlight).toBe(1));
  await queue.send('second');

  await eventually(() => expect(lines()).toEqual(['2']));
});

test('six megabytes end a batch before its window does', async () => {
  await map({ batchSize: 100, windowSeconds: 300 });

  for (let n = 0; n < 8; n += 1) await queue.send('x'.repeat(1_000_000));

  await eventually(() => expect(lines()).not.toEqual([]));
});
