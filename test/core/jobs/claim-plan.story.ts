import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeRound } from '../../../core/dispatch/dispatcher-run.ts';
import { applyCancelRequests, cancel } from '../../../core/jobs/cancel.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { findUnhandled } from '../../../core/jobs/die-unhandled.ts';
import { releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { findExpiredAttempts, releaseExpiredDispatched } from '../../../core/jobs/rescue.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { pagesOf, plansOf } from '../../support/plans.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine({ connections: 1 });
const { pool, db } = engine;
afterAll(() => engine.close());

const WANTED = 1000;
const HANDLERS = [
  { jobType: 'paused' },
  { jobType: 'mail', concurrency: 100, maxInFlight: 5000 },
  { jobType: 'index', concurrency: 100, maxInFlight: 5000 },
];

const fill = (jobType: string, count: number, due: string) =>
  pool.query(
    `insert into millrace.jobs (job_type, priority, run_at)
       select $1, n % 10, now() + $3::interval - make_interval(secs => n * 0.001) from generate_series(1, $2::int) n`,
    [jobType, count, due],
  );

/** Pages that a claim of 1,000 due jobs reads. */
async function pagesOfClaim(): Promise<number> {
  await fill('mail', WANTED / 2, '-1 hour');
  await fill('index', WANTED / 2, '-1 hour');
  await pool.query('vacuum analyze millrace.jobs_live');
  return pagesOf(engine.test, async (database) => expect(await claim(database, WANTED)).toHaveLength(WANTED));
}

let small: number;
beforeAll(async () => {
  await deploy(db, ...HANDLERS);
  await pool.query(`update millrace.handlers set paused_at = now() where job_type = 'paused'`);
  await pool.query('update millrace.handlers set max_in_flight = max_in_flight_cap');
  small = await pagesOfClaim();
  await pool.query(`delete from millrace.jobs_live`);
  await fill('paused', 40_000, '-1 day');
  await fill('unknown', 40_000, '-1 day');
  await fill('mail', 20_000, '1 day');
});

it('SCL-01: a claim reads few more pages among 100,000 jobs that are paused, unknown or not due', async () => {
  const pages = await pagesOfClaim();

  expect(small).toBeGreaterThan(WANTED);
  expect(pages).toBeLessThan(1.5 * small);
});

const VERBS: Record<string, (db: Database) => Promise<unknown>> = {
  'release of unconfirmed dispatches': (database) => releaseUnconfirmed(database, 60),
  'rescue of attempts': (database) => findExpiredAttempts(database, 1000),
  'rescue of dispatched jobs': (database) => releaseExpiredDispatched(database, 1000),
  storeRound: (database) => storeRound(database, false),
  'look for jobs without a handler': findUnhandled,
  'cancel on request': (database) => applyCancelRequests(database, 1000),
  'cancel of one': (database) => cancel(database, '1'),
  claim: (database) => claim(database, WANTED),
};

describe.each(['fresh', 'no'])('with %s statistics', (statistics) => {
  beforeAll(async () => {
    await pool.query(`delete from millrace.jobs_live where status = 'dispatched'`);
    await fill('mail', 2 * WANTED, '-1 hour');
    await claim(db, 100);
    if (statistics === 'fresh') await pool.query('vacuum analyze millrace.jobs_live');
    else await pool.query(`delete from pg_statistic where starelid = 'millrace.jobs_live'::regclass`);
  });

  it.each(Object.entries(VERBS))('a %s scans no whole table of jobs', async (_name, verb) => {
    const plans = (await plansOf(engine.test, verb)).join('\n');

    expect(plans).toMatch(/jobs_live_\w+/);
    expect(plans.match(/Seq Scan on jobs_live.*/g) ?? [], plans).toEqual([]);
  });
});
