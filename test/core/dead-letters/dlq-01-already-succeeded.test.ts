import { expect, it } from 'vitest';
import { runCli } from '../../cli/run-cli.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { openDeadLetterWorld } from './dead-letter-world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const EMPTY = { visible: 0, hidden: 0 };

it('DLQ-01: who redrives a job that already succeeded, by the console or from our side, runs nothing', async () => {
  const world = await openDeadLetterWorld(engine);
  const [id] = (await world.die(1)) as [string];
  engine.work = () => ({ sent: true });
  await engine.sql('select millrace.retry($1)', [id]);
  await world.workOff();
  const [succeeded] = await engine.sql('select * from millrace.jobs where id = $1', [id]);
  engine.runs.length = 0;

  const moved = await world.moveTask();
  await world.workOff();
  const ours = await runCli(['redrive', id, '--yes', '--json', '--database-url', engine.database.url]);
  const [sql] = await engine.sql('select millrace.retry($1) as answer', [id]);
  await world.workOff();

  expect(moved).toBe(1);
  expect(engine.runs).toEqual([]);
  expect(succeeded).toMatchObject({ status: 'succeeded', attempts: 1, result: { sent: true } });
  expect(await engine.sql('select * from millrace.jobs where id = $1', [id])).toEqual([succeeded]);
  expect(ours.code, ours.stderr).toBe(5);
  expect(JSON.parse(ours.stdout)).toMatchObject({ moved: 0, skipped_jobs: [{ id, reason: 'has already succeeded' }] });
  expect(sql).toEqual({ answer: 'not_dead' });
  expect(await world.depth(world.work.queueUrl)).toEqual(EMPTY);
  expect(await world.depth(world.work.deadLetterQueueUrl)).toEqual(EMPTY);
  expect(await world.rows()).toMatchObject([{ job_id: id, status: 'redriven' }]);
});

it('DLQ-01: the message of a job that succeeded leaves the dead-letter queue with the next mirror', async () => {
  const world = await openDeadLetterWorld(engine);
  const [id] = (await world.die(1)) as [string];
  await world.mirror();
  await engine.sql('select millrace.retry($1)', [id]);
  await world.workOff();

  await world.mirror();
  const moved = await world.moveTask();

  expect(moved).toBe(0);
  expect(await world.depth(world.work.deadLetterQueueUrl)).toEqual(EMPTY);
  expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
});
