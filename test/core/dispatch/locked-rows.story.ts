import { afterAll, beforeEach, expect, it } from 'vitest';
import { promoteSchedules } from '../../../core/dispatch/promote-schedules.ts';
import { dieUnhandled } from '../../../core/jobs/die-unhandled.ts';
import { nextOperations } from '../../../core/operations/running-operations.ts';
import { createClient } from '../../support/database.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

// A step reads a limited number of rows. An unfinished transaction that has locked as many must not hide all others.
const engine = await openEngine();
const { pool, db, log, test } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await deploy(db, { jobType: 'report' });
  await pool.query(`delete from millrace.schedules; delete from millrace.schedule_ticks; delete from millrace.jobs_live;
    delete from millrace.operations`);
});

/** Inserts schedules of the day before, each with these further columns. */
const insertSchedules = (prefix: string, count: number, columns = '', values = '') =>
  pool.query(
    `insert into millrace.schedules (name, job_type, every_seconds, since, next_tick_at, overlap${columns})
       select $1 || n, 'report', 3600, now() - interval '1 day', now() - interval '1 day', 'queue-one'${values}
         from generate_series(1, $2::integer) n`,
    [prefix, count],
  );

const insertUnhandled = (jobType: string, count: number) =>
  pool.query(
    `insert into millrace.jobs_live (job_type, max_attempts, run_at, created_at)
       select $1, 5, t.at, t.at from generate_series(1, $2::integer) n,
         lateral (select now() - interval '9 days' + n * interval '1 second' as at) t`,
    [jobType, count],
  );

const promote = () => {
  let now = 0;
  // Each look at the clock takes a while, so that a step that finds the same rows again comes to an end.
  const time = { now: () => (now += 10) };
  return promoteSchedules({ db, log, time, queued: { position: '' } });
};
const bury = async () => {
  const limits = { afterSeconds: 86_400, addresses: 500, jobs: 1000 };
  const { unhandled } = await db.transaction((tx) => dieUnhandled(tx, null, limits));
  return unhandled.reduce((sum, { died }) => sum + died, 0);
};
const PAUSE = `select millrace.pause_schedule(name) from millrace.schedules where name like 'locked%'`;
const FAILED = [', failed_at', `, now() - interval '1 hour'`] as const;
const QUEUED = [', failed_at, queued_tick_at, paused_at', `, now(), now() - interval '1 day', null`] as const;

interface Case {
  /** Inserts rows that the transaction locks, and one other. */
  readonly insert: () => Promise<unknown>;
  readonly lock: string;
  /** Returns how many rows the step worked off or found. */
  readonly step: () => Promise<number>;
}

const CASES: Record<string, Case> = {
  'a thousand due schedules': {
    insert: async () => [await insertSchedules('locked', 1000), await insertSchedules('other', 1)],
    lock: PAUSE,
    step: promote,
  },
  'a thousand schedules that were computed before the clock was set back': {
    insert: async () => {
      await insertSchedules('locked', 1000, ', computed_at', `, now() + interval '1 day'`);
      await insertSchedules('other', 1, ', computed_at', `, now() + interval '2 days'`);
      await pool.query(`update millrace.schedules set next_tick_at = now() + interval '1 day'`);
    },
    lock: PAUSE,
    step: async () => {
      await promote();
      const { rows } = await pool.query(
        `select count(*)::integer as count from millrace.schedules where computed_at <= now()`,
      );
      return rows[0].count;
    },
  },
  'twenty schedules that failed': {
    insert: async () => {
      await insertSchedules('locked', 20, ...FAILED);
      await insertSchedules('other', 1, ', failed_at', ', now()');
    },
    lock: PAUSE,
    step: promote,
  },
  'twenty schedules with a queued tick that failed': {
    insert: async () => {
      await insertSchedules('locked', 20, ...QUEUED);
      await insertSchedules('other', 1, ...QUEUED);
      await pool.query(`update millrace.schedules set next_tick_at = now() + interval '1 day'`);
      await pool.query(`update millrace.schedules set failed_at = now() - interval '1 hour' where name like 'locked%'`);
    },
    lock: PAUSE,
    step: promote,
  },
  'a thousand jobs without a handler': {
    insert: async () => [await insertUnhandled('gone', 1001)],
    lock: `update millrace.jobs set priority = 5 where run_at < now() - interval '9 days' + interval '1000.5 seconds'`,
    step: bury,
  },
  'a thousand jobs of another type without a handler': {
    insert: async () => [await insertUnhandled('gone', 1000), await insertUnhandled('lost', 1)],
    lock: `update millrace.jobs set priority = 5 where job_type = 'gone'`,
    step: bury,
  },
  'twenty redrives': {
    insert: () =>
      pool.query(`insert into millrace.operations (kind, filter, updated_at)
        select 'redrive', '{"all": true}', now() - make_interval(secs => 100 - n) from generate_series(1, 21) n`),
    lock: `select millrace.cancel_redrive(id) from (select id from millrace.operations order by updated_at limit 20) o`,
    step: async () => (await nextOperations(db, 20)).length,
  },
};

it.each(Object.entries(CASES))(
  '%s that an unfinished transaction has locked hide no other',
  async (_what, { insert, lock, step }) => {
    await insert();
    const operator = await createClient(test.url);
    await operator.query('begin');
    await operator.query(lock);

    const found = await step();
    await operator.query('rollback');

    expect(found).toBe(1);
  },
);
