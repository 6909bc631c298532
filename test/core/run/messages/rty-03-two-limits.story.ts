import { expect, it } from 'vitest';
import { MAX_RECEIVE_COUNT } from '../../../../core/handler/timing.ts';
import { openDatabaseEngine } from '../../../support/database-engine.ts';
import { receiveOne, show } from './arrivals.ts';
import { arnOf, claimJob } from './job-states.ts';
import { hiddenSeconds, openWorld, type World } from './world.ts';

const engine = await openDatabaseEngine();

const COMBINATIONS = [1, 3, 5].flatMap((maxAttempts) =>
  [3, 5, 10].flatMap((receives) => [0, 2].map((throttled) => ({ maxAttempts, receives, throttled }))),
);
const RETRY_SECONDS = 61;

async function setReceiveLimit(world: World, maxReceiveCount: number): Promise<void> {
  const deadLetterTargetArn = await arnOf(world, world.work.deadLetterQueueUrl);
  const Attributes = { RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount }) };
  await world.sqs.setQueueAttributes({ QueueUrl: world.work.queueUrl, Attributes });
}

/** Runs everything that happens automatically. */
async function wait(world: World, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await world.dispatch();
    await world.pump('work');
    await world.advance(round % 2 === 0 ? RETRY_SECONDS : hiddenSeconds(engine));
    await engine.rescue();
  }
}

it.each(COMBINATIONS)(
  'RTY-03: $maxAttempts attempts, receive limit $receives, $throttled throttled: runs as often as allowed, and dies once',
  async ({ maxAttempts, receives, throttled }) => {
    const world = await openWorld(engine);
    await setReceiveLimit(world, receives);
    engine.work = () => Promise.reject(new Error('boom'));
    const id = await engine.enqueue({ maxAttempts });
    await world.dispatch();
    for (let n = 1; n <= throttled; n++) await show(world, await receiveOne(world, world.work.queueUrl));

    const first = await world.pump('work');
    // After five receives a dead job's message no longer bounces: each further receive costs a visibility timeout.
    await wait(world, maxAttempts + 2 * Math.max(0, receives - MAX_RECEIVE_COUNT) + 2);

    expect(first[0]).toBe(throttled + 1);
    expect(engine.runs).toEqual(Array(maxAttempts).fill(id));
    await expectDeadOnce(world, id, maxAttempts);
  },
);

it('RTY-03: a delivery that a throttled function never received is not an attempt', async () => {
  const world = await openWorld(engine);
  engine.work = () => Promise.reject(new Error('boom'));
  const { jobId } = await claimJob(world, await engine.enqueue({ maxAttempts: 3 }));
  await world.advance(hiddenSeconds(engine));
  await receiveOne(world, world.work.queueUrl);
  await world.advance(hiddenSeconds(engine));

  const { releases } = await engine.rescue();
  await wait(world, 6);

  expect(releases).toBe(1);
  expect(engine.runs).toEqual(Array(3).fill(jobId));
  await expectDeadOnce(world, jobId, 3);
});

async function expectDeadOnce(world: World, id: string, attempts: number): Promise<void> {
  expect(await engine.state(id)).toMatchObject({ status: 'dead_letter', attempts });
  expect(await engine.sql('select status from millrace.dead_letters')).toEqual([{ status: 'open' }]);
  expect(await world.depth(world.work.queueUrl)).toEqual({ visible: 0, hidden: 0 });
  expect(await world.depth(world.work.deadLetterQueueUrl)).toEqual({ visible: 1, hidden: 0 });
}
