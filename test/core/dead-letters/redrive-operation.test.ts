import { expect, it } from 'vitest';
import { cancelRedrive, readRedrive, startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { workOffOperations } from '../../../core/dispatch/work-off-operations.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });

/** Creates jobs that died with the given error, and returns their ids. */
async function makeDead(count: number, error = 'no'): Promise<string[]> {
  engine.work = () => {
    throw new Error(error);
  };
  const { ids, records } = await engine.deliver(count);
  await engine.run(records);
  engine.queues.purge();
  return ids;
}

async function statuses(): Promise<Record<string, number>> {
  const rows = await engine.sql<{ status: string; count: number }>(
    'select status, count(*)::integer from millrace.jobs_live group by status',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

async function stepToEnd(id: string) {
  for (;;) {
    const after = await stepRedrive(engine.db, id, 3);
    if (after?.status !== 'running') return after;
  }
}

it('moves all matching jobs in steps, and returns their number', async () => {
  await makeDead(10);

  const id = await startRedrive(engine.db, {});
  const first = await stepRedrive(engine.db, id, 3);
  const last = await stepToEnd(id);

  expect(first).toMatchObject({ status: 'running', expected: 10, done: 3 });
  expect(last).toMatchObject({ status: 'done', expected: 10, done: 10, skipped: 0 });
  expect(await statuses()).toEqual({ pending: 10 });
});

it.each([
  ['error', { error: 'DISK' }, 2],
  ['job type', { jobTypes: ['work'] }, 5],
  ['another job type', { jobTypes: ['other'] }, 0],
  ['routing key', { routingKey: 'none' }, 0],
  ['age', { since: '1h' }, 5],
  ['interval', { since: '1h', until: '0s' }, 5],
  ['end of an interval', { until: new Date(0) }, 0],
])('moves only the jobs that match the filter: %s', async (_name, filter, expected) => {
  await makeDead(3);
  await makeDead(2, 'the disk is full');

  const last = await stepToEnd(await startRedrive(engine.db, filter));

  expect(last).toMatchObject({ expected, done: expected });
});

it('moves the named jobs up to the limit', async () => {
  const ids = await makeDead(5);

  const named = await stepToEnd(await startRedrive(engine.db, { jobIds: ids.slice(0, 2) }));
  const limited = await stepToEnd(await startRedrive(engine.db, {}, { limit: 1 }));

  expect([named?.done, limited?.done]).toEqual([2, 1]);
  expect(await statuses()).toEqual({ pending: 3, dead_letter: 2 });
});

it('keeps its rate, even after a long break', async () => {
  await makeDead(10);
  const id = await startRedrive(engine.db, {}, { rate: 0.5 });

  const atOnce = await stepRedrive(engine.db, id, 100);
  await engine.advance(5);
  const later = await stepRedrive(engine.db, id, 100);
  const atOnceAgain = await stepRedrive(engine.db, id, 100);
  await engine.advance(3600);
  const muchLater = await stepRedrive(engine.db, id, 3);

  expect([atOnce, later, atOnceAgain, muchLater].map((one) => one?.done)).toEqual([0, 2, 2, 4]);
});

it('catches up at most five seconds after an outage', async () => {
  await makeDead(30);
  const id = await startRedrive(engine.db, {}, { rate: 2 });
  await engine.advance(90);

  const after = await stepRedrive(engine.db, id, 1000);

  expect(after?.done).toBe(10);
});

it('moves one job at any rate', async () => {
  await makeDead(2);
  const id = await startRedrive(engine.db, {}, { rate: 0.01 });
  await engine.advance(99);
  const before = await stepRedrive(engine.db, id, 10);
  await engine.advance(1);

  const after = await stepRedrive(engine.db, id, 10);

  expect([before?.done, after?.done]).toEqual([0, 1]);
});

it('moves no job that dies after its start', async () => {
  await makeDead(2);
  const id = await startRedrive(engine.db, {});
  await makeDead(3);

  const last = await stepToEnd(id);

  expect(last).toMatchObject({ status: 'done', done: 2 });
  expect((await statuses()).dead_letter).toBe(3);
});

it('moves every job once when two redrives run', async () => {
  await makeDead(20);
  const both = await Promise.all([startRedrive(engine.db, {}), startRedrive(engine.db, {})]);

  const ends = await Promise.all(both.map(stepToEnd));

  expect(ends.map((end) => end?.done ?? 0).reduce((sum, done) => sum + done)).toBe(20);
  const [{ redriven }] = (await engine.sql<{ redriven: number }>(
    "select count(*)::integer as redriven from millrace.job_attempts where outcome = 'redriven'",
  )) as [{ redriven: number }];
  expect(redriven).toBe(20);
});

it('moves the job of a locked row later', async () => {
  const [held] = await makeDead(3);
  const id = await startRedrive(engine.db, {});
  const client = await engine.database.pool.connect();
  await client.query('begin');
  await client.query('select from millrace.jobs_live where id = $1 for update', [held]);

  const meanwhile = await stepRedrive(engine.db, id, 100);
  await client.query('rollback');
  client.release();
  const last = await stepToEnd(id);

  expect(meanwhile).toMatchObject({ status: 'running', done: 2 });
  expect(last).toMatchObject({ status: 'done', done: 3 });
});

it('does not move jobs without a handler, and returns their number', async () => {
  const [id] = await makeDead(2);
  await engine.sql(`update millrace.dead_letters set job_type = 'gone' where job_id = $1`, [id]);

  const last = await stepToEnd(await startRedrive(engine.db, {}));

  expect(last).toMatchObject({ status: 'done', expected: 1, done: 1, skipped: 1 });
});

it('moves nothing after its cancellation', async () => {
  await makeDead(5);
  const id = await startRedrive(engine.db, {});
  await stepRedrive(engine.db, id, 2);

  const cancelled = await cancelRedrive(engine.db, id);
  const after = await stepRedrive(engine.db, id, 100);
  const again = await cancelRedrive(engine.db, id);

  expect([cancelled, again]).toEqual([true, false]);
  expect(after).toMatchObject({ status: 'cancelled', done: 2 });
  expect(await readRedrive(engine.db, id)).toMatchObject({ status: 'cancelled', done: 2 });
});

it('is done by the dispatcher, in the round of its last jobs', async () => {
  await makeDead(5);
  const lines: string[] = [];
  const log = { info: (event: string) => lines.push(event), warn: () => 0, error: () => 0 };
  await startRedrive(engine.db, {});

  const moved = [
    await workOffOperations({ db: engine.db, log: log as never, time: stillTime() }),
    await workOffOperations({ db: engine.db, log: log as never, time: stillTime() }),
  ];

  expect(moved).toEqual([5, 0]);
  expect(lines).toEqual(['redrive_done']);
});

it('counts jobs as moved, and strays as skipped', async () => {
  await makeDead(3);
  await engine.sql(
    `insert into millrace.dead_letters (job_type, routing_key, queue_name, last_error, died_at)
       select 'work', '', 'q', 'stray', millrace.clock() from generate_series(1, 2)`,
  );

  const last = await stepToEnd(await startRedrive(engine.db, {}));

  expect(last).toMatchObject({ status: 'done', expected: 3, done: 3, skipped: 2 });
});
