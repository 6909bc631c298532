import { expect, it } from 'vitest';
import { readRedrive, startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { runCli } from '../../cli/run-cli.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { type DeadLetterWorld, openDeadLetterWorld } from './dead-letter-world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const { db } = engine;
const JOBS = 20;
const EMPTY = { visible: 0, hidden: 0 };

const script = (ids: readonly string[]) =>
  runCli(['redrive', ...ids, '--yes', '--json', '--database-url', engine.database.url]);

/** Runs one redrive of an operator to its end, and returns the number of moved jobs. */
async function redrive(ids: readonly string[]): Promise<number> {
  const id = await startRedrive(db, { jobIds: ids });
  return eventually(async () => {
    const { status, done } = (await stepRedrive(db, id, 7))!;
    expect(status).toBe('done');
    return done;
  });
}

async function mended(): Promise<{ world: DeadLetterWorld; ids: string[] }> {
  const world = await openDeadLetterWorld(engine);
  const ids = await world.die(JOBS);
  engine.runs.length = 0;
  return { world, ids };
}

async function expectOneRunEach({ world, ids }: { world: DeadLetterWorld; ids: string[] }): Promise<void> {
  expect(engine.runs.toSorted()).toEqual(ids.toSorted());
  for (const id of ids) expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  const rows = await world.rows();
  expect(rows.map(({ status }) => status)).toEqual(ids.map(() => 'redriven'));
}

it('DLQ-03: two concurrent redrives of the same 20 jobs, and a third later, make 20 attempts', async () => {
  const { world, ids } = await mended();

  const moved = await Promise.all([redrive(ids), redrive(ids)]);
  await world.workOff();
  const third = await script(ids);
  await world.workOff();

  expect(moved[0] + moved[1]).toBe(JOBS);
  await expectOneRunEach({ world, ids });
  expect(third.code, third.stderr).toBe(5);
  const reasons = ids.map((id) => ({ id, status: 'succeeded', reason: 'has already succeeded' }));
  expect(JSON.parse(third.stdout)).toMatchObject({ moved: 0, skipped: JOBS, skipped_jobs: reasons });
});

it('DLQ-03: a redrive while the jobs of the first wait returns 0 moved and 20 skipped, with reasons', async () => {
  const { world, ids } = await mended();

  const first = await script(ids);
  const second = await script(ids);
  await world.workOff();

  expect(first.code, first.stderr).toBe(0);
  expect(JSON.parse(first.stdout)).toMatchObject({ moved: JOBS, skipped: 0 });
  const reasons = ids.map((id) => ({ id, status: 'pending', reason: 'is pending, not dead' }));
  expect(JSON.parse(second.stdout)).toMatchObject({ moved: 0, skipped: JOBS, skipped_jobs: reasons });
  expect(second.stderr.match(/is pending, not dead/g)).toHaveLength(JOBS);
  await expectOneRunEach({ world, ids });
});

it('DLQ-03: a redrive whose response was lost is done, and its repetition moves nothing', async () => {
  const { world, ids } = await mended();
  const operation = await startRedrive(db, { jobIds: ids });
  const client = await createClient(engine.database.url);
  const { stream } = (client as unknown as { connection: { stream: NodeJS.WritableStream & { destroy(): void } } })
    .connection;
  const answer = client.query('select millrace.step_redrive($1, 1000)', [operation]).then(
    () => 'answered',
    () => 'lost',
  );
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
  stream.destroy();
  await eventually(async () => expect((await readRedrive(db, operation))?.done).toBe(JOBS));

  const second = await script(ids);
  await world.workOff();

  expect(await answer).toBe('lost');
  expect(JSON.parse(second.stdout)).toMatchObject({ moved: 0, skipped: JOBS });
  await expectOneRunEach({ world, ids });
});

it('DLQ-03: a concurrent move task, redrive by filter and redrive with SQL run each job once', async () => {
  const { world, ids } = await mended();

  const [moved, ours] = await Promise.all([
    world.moveTask(),
    redrive(ids),
    ...ids.map((id) => engine.sql('select millrace.retry($1)', [id])),
  ]);
  await world.workOff();
  await world.mirror();

  expect(moved).toBe(JOBS);
  expect(ours).toBeLessThanOrEqual(JOBS);
  await expectOneRunEach({ world, ids });
  expect(await world.depth(world.work.queueUrl)).toEqual(EMPTY);
  expect(await world.depth(world.work.deadLetterQueueUrl)).toEqual(EMPTY);
});
