import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beat } from '../../../core/dispatch/dispatcher-run.ts';
import { applyCancelRequests, cancel } from '../../../core/jobs/cancel.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { findUnhandled } from '../../../core/jobs/die-unhandled.ts';
import { releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { findExpiredAttempts, releaseExpiredDispatched } from '../../../core/jobs/rescue.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { createClient } from '../../support/database.ts';
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

/** Milliseconds of the fastest of some claims of 1,000, each undone by a fresh batch of due jobs. */
async function fastest(): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    await pool.query(`delete from millrace.jobs_live where job_type in ('mail', 'index')`);
    await fill('mail', WANTED / 2, '-1 hour');
    await fill('index', WANTED / 2, '-1 hour');
    const started = performance.now();
    const jobs = await claim(db, WANTED);
    times.push(performance.now() - started);
    expect(jobs).toHaveLength(WANTED);
  }
  return Math.min(...times);
}

let small: number;
beforeAll(async () => {
  await deploy(db, ...HANDLERS);
  await pool.query(`update millrace.handlers set paused_at = now() where job_type = 'paused'`);
  await pool.query('update millrace.handlers set max_in_flight = max_in_flight_cap');
  small = await fastest();
  await fill('paused', 40_000, '-1 day');
  await fill('unknown', 40_000, '-1 day');
  await fill('mail', 20_000, '1 day');
}, 60_000);

it('SCL-01: takes as long among 100,000 jobs that are paused, unknown or not due as without them', async () => {
  await pool.query(`delete from millrace.jobs_live where status = 'dispatched'`);
  await pool.query('vacuum analyze millrace.jobs_live');
  const future = await pool.query(`select count(*)::int as n from millrace.jobs_live`);
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    await pool.query(`delete from millrace.jobs_live where status = 'dispatched'`);
    await fill('mail', WANTED / 2, '-1 hour');
    await fill('index', WANTED / 2, '-1 hour');
    const started = performance.now();
    expect(await claim(db, WANTED)).toHaveLength(WANTED);
    times.push(performance.now() - started);
  }

  console.log(
    `claim of ${WANTED}: ${small.toFixed(1)} ms near-empty, ${Math.min(...times).toFixed(1)} ms among ${future.rows[0].n}`,
  );
  expect(Math.min(...times)).toBeLessThan(3 * small + 10);
});

/** The plans that Postgres chose for the statements of `work`, as it writes them. */
async function plansOf(work: (db: Database) => Promise<unknown>): Promise<string> {
  const client = await createClient(engine.test.url);
  await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on;
    set auto_explain.log_nested_statements = on; set client_min_messages = 'log'; set role millrace_runtime`);
  const plans: string[] = [];
  client.on('notice', ({ message }) => plans.push(message ?? ''));
  const query = async (text: string, values?: readonly unknown[]) => {
    const { rows, rowCount } = await client.query(text, [...(values ?? [])]);
    return { rows, rowCount: rowCount ?? 0 } as never;
  };
  await work({ query, transaction: (inner) => inner({ query }), close: async () => undefined });
  return plans.join('\n');
}

const VERBS: Record<string, (db: Database) => Promise<unknown>> = {
  'release of unconfirmed dispatches': (database) => releaseUnconfirmed(database, 60),
  'rescue of attempts': (database) => findExpiredAttempts(database, 1000),
  'rescue of dispatched jobs': (database) => releaseExpiredDispatched(database, 1000),
  beat: (database) => beat(database, false),
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

  it.each(Object.entries(VERBS))('a %s walks no table of jobs as a whole', async (_name, verb) => {
    const plans = await plansOf(verb);

    expect(plans).toMatch(/jobs_live_\w+/);
    expect(plans.match(/Seq Scan on jobs_live.*/g) ?? [], plans).toEqual([]);
  });
});
