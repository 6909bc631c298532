import { expect, it } from 'vitest';
import { cancelRedrive, readRedrive, startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { workOffOperations } from '../../../core/dispatch/work-off-operations.ts';
import { openLog } from '../../../core/log.ts';
import { nextOperations } from '../../../core/operations/running-operations.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { stillTime } from '../../support/still-time.ts';
import { type DeadLetterWorld, openDeadLetterWorld } from './dead-letter-world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const { db } = engine;
const log = openLog(() => undefined);
const EMPTY = { visible: 0, hidden: 0 };

/** Advances the clock and then the redrives, like the dispatcher. */
async function redriveAfter(world: DeadLetterWorld, seconds: number): Promise<void> {
  await world.advance(seconds);
  await workOffOperations({ db, log, time: stillTime() });
}

async function redriveToEnd(world: DeadLetterWorld): Promise<void> {
  for (let n = 0; n < 30 && (await nextOperations(db, 20)).length > 0; n++) await redriveAfter(world, 1);
}

async function dead(count: number): Promise<{ world: DeadLetterWorld; ids: string[] }> {
  const world = await openDeadLetterWorld(engine);
  const ids = await world.die(count);
  engine.runs.length = 0;
  return { world, ids };
}

async function expectOneRunEach(world: DeadLetterWorld, ids: readonly string[]): Promise<void> {
  expect(engine.runs.toSorted()).toEqual(ids.toSorted());
  for (const id of ids) expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  await world.advance(16 * 60);
  await world.mirror();
  expect(await world.depth(world.work.queueUrl)).toEqual(EMPTY);
  expect(await world.depth(world.work.deadLetterQueueUrl)).toEqual(EMPTY);
  expect((await world.rows()).filter(({ status }) => status === 'open')).toEqual([]);
}

it('a redrive that starts during another of the same jobs moves the rest, and both finish', async () => {
  const { world, ids } = await dead(12);
  const first = await startRedrive(db, {}, { rate: 1 });
  await redriveAfter(world, 5);
  const half = await readRedrive(db, first);

  const second = await startRedrive(db, {});
  await workOffOperations({ db, log, time: stillTime() });
  await redriveToEnd(world);
  await world.workOff();

  const ends = [await readRedrive(db, first), await readRedrive(db, second)];
  expect(half).toMatchObject({ status: 'running', done: 5, expected: 12 });
  expect(ends).toMatchObject([{ status: 'done' }, { status: 'done' }]);
  expect(ends[0]!.done + ends[1]!.done).toBe(12);
  await expectOneRunEach(world, ids);
});

it('the cancellation of a redrive does not affect another redrive of the same jobs', async () => {
  const { world, ids } = await dead(12);
  const first = await startRedrive(db, {}, { rate: 1 });
  const second = await startRedrive(db, {}, { rate: 2 });
  await redriveAfter(world, 2);

  await cancelRedrive(db, first);
  await redriveToEnd(world);
  await world.workOff();

  expect(await readRedrive(db, first)).toMatchObject({ status: 'cancelled', done: 2 });
  expect(await readRedrive(db, second)).toMatchObject({ status: 'done', done: 10 });
  await expectOneRunEach(world, ids);
});

it('a move task during a redrive from the table, and one after it, run each job once', async () => {
  const { world, ids } = await dead(12);
  const operation = await startRedrive(db, {}, { rate: 1 });
  await redriveAfter(world, 5);

  const moved = await world.moveTask();
  await world.workOff();
  await redriveToEnd(world);
  const again = await world.moveTask();
  await world.workOff();

  expect([moved, again]).toEqual([12, 0]);
  expect(await readRedrive(db, operation)).toMatchObject({ status: 'done', done: 5, skipped: 0 });
  await expectOneRunEach(world, ids);
});

it('SQS refuses a second move task of the same queue, and the first continues', async () => {
  const { world, ids } = await dead(3);
  const { QueueArn: SourceArn } = (
    await world.sqs.getQueueAttributes({ QueueUrl: world.work.deadLetterQueueUrl, AttributeNames: ['QueueArn'] })
  ).Attributes!;
  const start = () =>
    world.sqs.startMessageMoveTask({ SourceArn, MaxNumberOfMessagesPerSecond: 1 }).then(
      () => 'started',
      (error: Error) => error.message,
    );

  const answers = [await start(), await start()];
  await world.advance(5);
  await expect.poll(async () => (await world.depth(world.work.deadLetterQueueUrl)).visible).toBe(0);
  await world.workOff();

  expect(answers).toEqual(['started', expect.stringMatching(/already/)]);
  await expectOneRunEach(world, ids);
});

it('a redrive and a move task leave jobs without a handler dead until its next deployment', async () => {
  const { world, ids } = await dead(3);
  const { queueUrl, deadLetterQueueUrl } = world.work;
  const deploy = () =>
    registerHandlers({ db, stage: 'local' }, [{ definition: engine.definition, functionName: 'work', ...world.work }]);
  await registerHandlers({ db, stage: 'local' }, []);

  const operation = await startRedrive(db, {});
  await stepRedrive(db, operation, 1000);
  const end = await stepRedrive(db, operation, 1000);
  const moved = await world.moveTask();
  const [one] = await engine.sql('select millrace.retry($1) as answer', [ids[0]]);
  const waiting = await world.depth(queueUrl);
  await deploy();
  await world.workOff();

  expect(end).toMatchObject({ status: 'done', expected: 0, done: 0, skipped: 3 });
  expect(moved).toBe(3);
  expect(one).toEqual({ answer: 'redriven' });
  expect(waiting).toEqual({ visible: 3, hidden: 0 });
  expect(await world.depth(deadLetterQueueUrl)).toEqual(EMPTY);
  await expectOneRunEach(world, ids);
});
