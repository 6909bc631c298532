import { afterEach, beforeEach, expect, it } from 'vitest';
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

/** Adds a function that prints the size of its batches, and a mapping to it. */
async function map(mapping: { batchSize: number; windowSeconds: number }): Promise<void> {
  await fixture.add('f', handler('console.log(event.Records.length);'));
  const { url: queueUrl, arn: queueArn } = queue;
  fixture.runner.addMapping({ functionName: 'f', maximumConcurrency: 2, queueUrl, queueArn, ...mapping });
}
const lines = () => fixture.lines();

it('a window collects more messages than one receive returns', async () => {
  await map({ batchSize: 25, windowSeconds: 1 });

  for (let batch = 0; batch < 3; batch += 1) await queue.sendBatch(Array.from({ length: 10 }, (_, n) => String(n)));

  await eventually(() => expect(lines()).toEqual(['25', '5']));
});

it('a batch that is full before the end of its window is run at once', async () => {
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

  // Two batches may be incomplete when no more messages are visible.
  expect(sizes.filter((size) => size < 100).length).toBeLessThanOrEqual(2);
});

it('a message that arrives within the last second of a window belongs to its batch', async () => {
  await map({ batchSize: 100, windowSeconds: 1 });

  await queue.send('first');
  await eventually(async () => expect((await queue.depth()).inFlight).toBe(1));
  await queue.send('second');

  await eventually(() => expect(lines()).toEqual(['2']));
});

it('a batch of six megabytes is run before the end of its window', async () => {
  await map({ batchSize: 100, windowSeconds: 300 });

  for (let n = 0; n < 8; n += 1) await queue.send('x'.repeat(1_000_000));

  await eventually(() => expect(lines()).not.toEqual([]));
});
