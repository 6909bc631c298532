import { afterAll, beforeEach, expect, it } from 'vitest';
import { revokeApiKey } from '../../../core/access/api-keys.ts';
import { insertJobs, openEngine, shiftClock } from '../../support/runtime-engine.ts';
import { pruneHistory } from './prune-history.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

const DAY = 86_400;
const count = async (table: string): Promise<number> =>
  (await pool.query(`select count(*)::int as n from millrace.${table}`)).rows[0].n;
const remember = (jobId: string, days: number) =>
  pool.query(
    `insert into millrace.job_attempts (job_id, attempt, outcome, finished_at)
       values ($1, 1, 'failed', now() - make_interval(days => $2))`,
    [jobId, days],
  );

beforeEach(async () => {
  await pool.query(`delete from millrace.jobs_live; delete from millrace.job_attempts; delete from millrace.dispatches;
    delete from millrace.dead_letters; delete from millrace.audit_log; delete from millrace.idempotency_keys;
    delete from millrace.operations; delete from millrace.schedule_ticks; delete from millrace.jobs_finished`);
  await shiftClock(pool, 0);
});

it('deletes attempts of pruned jobs after the retention, and all after ninety days', async () => {
  const [live] = await insertJobs(pool, 'mail', 1);
  await remember('999', 6);
  await remember('999', 8);
  await remember(live!, 8);
  await remember(live!, 91);

  const rows = await pruneHistory(engine, 7 * DAY);

  const left = await pool.query('select job_id from millrace.job_attempts order by id');
  expect([rows, left.rows]).toEqual([2, [{ job_id: '999' }, { job_id: live }]]);
});

it('deletes closed dead letters after ninety days, and never an open one', async () => {
  await pool.query(`insert into millrace.dead_letters (job_id, status, resolved_at, died_at) values
    (1, 'redriven', now() - interval '91 days', now() - interval '99 days'),
    (2, 'redriven', now() - interval '89 days', now() - interval '99 days'),
    (3, 'open', null, now() - interval '999 days')`);

  await pruneHistory(engine, 7 * DAY);

  const left = await pool.query('select job_id from millrace.dead_letters order by 1');
  expect(left.rows).toEqual([{ job_id: '2' }, { job_id: '3' }]);
});

it('deletes confirmed and released dispatches after a day, and never an unconfirmed one', async () => {
  await pool.query(`insert into millrace.dispatches (claimed_count, claimed_at, sent_at, released_at) values
    (1, now() - interval '25 hours', now(), null), (2, now() - interval '25 hours', null, now()),
    (3, now() - interval '25 hours', null, null), (4, now() - interval '23 hours', now(), null)`);

  await pruneHistory(engine, 7 * DAY);

  const left = await pool.query('select claimed_count from millrace.dispatches order by 1');
  expect(left.rows).toEqual([{ claimed_count: 3 }, { claimed_count: 4 }]);
});

it('keeps the audit log for four hundred days, and idempotency keys for one', async () => {
  await pool.query(
    `insert into millrace.audit_log (action, at) values ('a', now() - interval '401 days'), ('b', now())`,
  );
  await pool.query(`insert into millrace.idempotency_keys (caller, key, request_sha256, response, created_at) values
    ('c', 'old', '', '{}', now() - interval '25 hours'), ('c', 'new', '', '{}', now())`);

  await pruneHistory(engine, 7 * DAY);

  expect([await count('audit_log'), await count('idempotency_keys')]).toEqual([1, 1]);
});

it('deletes revoked and expired keys of the API after four hundred days', async () => {
  await pool.query(`insert into millrace.api_keys
      (name, secret_sha256, scopes, created_at, expires_at, revoked_at) values
    ('revoked', '1', '{}', now() - interval '600 days', null, now() - interval '401 days'),
    ('expired', '2', '{}', now() - interval '600 days', now() - interval '401 days', null),
    ('revoked lately', '3', '{}', now() - interval '600 days', now() - interval '500 days', now() - interval '9 days'),
    ('expired lately', '4', '{}', now() - interval '600 days', now() - interval '399 days', null),
    ('in use', '5', '{}', now() - interval '600 days', null, null)`);

  await pruneHistory(engine, 7 * DAY);

  const left = await pool.query('select name from millrace.api_keys order by id');
  expect(left.rows.map(({ name }) => name)).toEqual(['revoked lately', 'expired lately', 'in use']);
});

it('keeps a revoked key as long as a key that it created, directly or indirectly', async () => {
  await pool.query(`delete from millrace.api_keys`);
  await pool.query(`insert into millrace.api_keys (id, name, secret_sha256, scopes, made_by, revoked_at)
    overriding system value
    select id, name, name, '{}', made_by, now() - revoked_days * interval '1 day' from (values
      (101, 'maker', null, 500), (102, 'made', 101, 500), (103, 'used', 102, null),
      (104, 'old maker', null, 500), (105, 'old made', 104, 500)) as k(id, name, made_by, revoked_days)`);

  // The last pass deletes the maker of what the pass before deleted.
  for (let pass = 0; pass < 2; pass++) await pruneHistory(engine, 7 * DAY);

  const left = await pool.query('select name from millrace.api_keys order by id');
  expect(left.rows.map(({ name }) => name)).toEqual(['maker', 'made', 'used']);
  expect(await revokeApiKey(db, '101', { withMade: true })).toBe(true);
  const used = await pool.query(`select from millrace.api_keys where name = 'used' and revoked_at is not null`);
  expect(used.rowCount).toBe(1);
});

it('deletes operations that ended ninety days ago, and never a running one', async () => {
  await pool.query(`insert into millrace.operations
      (kind, filter, status, requested_by, created_at, updated_at, finished_at) values
    ('redrive', '{}', 'done', 'old', now() - interval '91 days', now(), now() - interval '91 days'),
    ('redrive', '{}', 'cancelled', 'cancelled', now() - interval '99 days', now() - interval '91 days', null),
    ('redrive', '{}', 'done', 'slow', now() - interval '99 days', now(), now() - interval '89 days'),
    ('redrive', '{}', 'running', 'running', now() - interval '99 days', now() - interval '99 days', null)`);

  await pruneHistory(engine, 7 * DAY);

  const left = await pool.query('select requested_by from millrace.operations order by id');
  expect(left.rows.map(({ requested_by }) => requested_by)).toEqual(['slow', 'running']);
});

it('deletes ticks of schedules after ninety days, and keeps one that was caught up late', async () => {
  await pool.query(`insert into millrace.schedule_ticks (schedule, tick_at, created_at) values
    ('a', now() - interval '91 days', now() - interval '91 days'), ('a', now() - interval '92 days', now()),
    ('b', now() - interval '91 days', now() - interval '91 days')`);

  const rows = await pruneHistory(engine, 7 * DAY);

  expect([rows, await count('schedule_ticks')]).toEqual([2, 1]);
});

/** One row of each table of history that has the order of time in its key; $1 is the number of rows. */
const HISTORY = {
  job_attempts: `insert into millrace.job_attempts (job_id, attempt, outcome) select n, 1, 'failed'`,
  dispatches: `insert into millrace.dispatches (claimed_count, sent_at) select 1, now()`,
  dead_letters: `insert into millrace.dead_letters (job_id, status, resolved_at) select n, 'redriven', millrace.clock()`,
  audit_log: `insert into millrace.audit_log (action) select 'retry'`,
  operations: `insert into millrace.operations (kind, filter, status) select 'redrive', '{}', 'done'`,
};
const write = async (table: keyof typeof HISTORY, rows: number, days: number): Promise<void> => {
  await shiftClock(pool, days * DAY);
  await pool.query(`${HISTORY[table]} from generate_series(1, ${rows}) n`);
  await shiftClock(pool, 0);
};

it.each(Object.keys(HISTORY) as (keyof typeof HISTORY)[])(
  'deletes old rows of %s behind those that were written while a clock was ahead',
  async (table) => {
    await write(table, 5001, 365);
    await write(table, 7000, -500);
    await write(table, 3, 0);

    const rows = await pruneHistory(engine, 7 * DAY);

    expect([rows, await count(table)]).toEqual([7000, 5004]);
  },
);

const finish = async (days: number): Promise<string> => {
  await shiftClock(pool, days * DAY);
  const [id] = await insertJobs(pool, 'mail', 1);
  await pool.query('select millrace.cancel($1)', [id]);
  await shiftClock(pool, 0);
  return id!;
};

it.each([2, 10, 24])('keeps a job that finished while the clock was %d days ahead', async (days) => {
  await finish(days - 32);
  const id = await finish(days);

  await pruneHistory(engine, 7 * DAY);

  const kept = await pool.query('select id from millrace.jobs_finished where id = $1', [id]);
  expect(kept.rows).toEqual([{ id }]);
});

it('keeps a job that finished while the clock was ahead, though one with a higher id had finished before', async () => {
  const [low] = await insertJobs(pool, 'mail', 1);
  const high = await finish(10 - 32);
  await shiftClock(pool, 10 * DAY);
  await pool.query('select millrace.cancel($1)', [low]);
  await shiftClock(pool, 0);

  await pruneHistory(engine, 7 * DAY);
  const early = await count('jobs_finished');
  await shiftClock(pool, 18 * DAY);
  await pruneHistory(engine, 7 * DAY);

  expect([Number(high) > Number(low), early, await count('jobs_finished')]).toEqual([true, 2, 0]);
});
