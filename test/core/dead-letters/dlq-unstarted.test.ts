import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { hiddenSeconds } from '../run/messages/world.ts';
import { openDeadLetterWorld } from './dead-letter-world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const EMPTY = { visible: 0, hidden: 0 };

it('SQS-09: unstarted jobs with a message in the dead-letter queue are due again, at no attempt', async () => {
  const world = await openDeadLetterWorld(engine);
  const { queueUrl, deadLetterQueueUrl } = world.work;
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push(await engine.enqueue());
  await world.dispatch();
  // A mapping whose every invocation is throttled receives the messages repeatedly.
  for (let n = 1; n <= 5; n++) {
    await world.receive(queueUrl, 5);
    await world.advance(hiddenSeconds(engine));
  }
  await world.receive(queueUrl, 0);
  const dead = await world.depth(deadLetterQueueUrl);

  await world.mirror();
  await engine.rescue();
  const released = await Promise.all(ids.map((id) => engine.state(id)));
  await world.workOff();

  expect(dead).toEqual({ visible: 5, hidden: 0 });
  for (const job of released) {
    expect(job).toMatchObject({ status: 'pending', attempts: 0, losses: 0 });
    expect(job.due_in).toBeLessThanOrEqual(0);
  }
  expect(engine.runs.toSorted()).toEqual(ids.toSorted());
  for (const id of ids) expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await world.rows()).toEqual([]);
  expect(await world.depth(queueUrl)).toEqual(EMPTY);
  expect(await world.depth(deadLetterQueueUrl)).toEqual(EMPTY);
});

it('SQS-09: a move task before the next sweep of the mirror leads an unstarted job to its first start', async () => {
  const world = await openDeadLetterWorld(engine);
  const id = await engine.enqueue();
  await world.dispatch();
  for (let n = 1; n <= 5; n++) {
    await world.receive(world.work.queueUrl);
    await world.advance(hiddenSeconds(engine));
  }
  await world.receive(world.work.queueUrl, 0);

  const moved = await world.moveTask();
  await world.workOff();

  expect(moved).toBe(1);
  expect(engine.runs).toEqual([id]);
  expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await world.depth(world.work.queueUrl)).toEqual(EMPTY);
});
