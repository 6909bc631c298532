import { afterAll, beforeEach, expect, it } from 'vitest';
import { foldEvents, foldTimings } from '../../../core/dispatch/fold-events.ts';
import { type ReadSeries, readSeries, type SeriesWish } from '../../../core/numbers/series.ts';
import { createClient } from '../../support/database.ts';
import { createLogin, deploy, insertJobs, openEngine } from '../../support/runtime-engine.ts';

const { test, pool, db, close } = await openEngine();
afterAll(close);

async function at(time: string): Promise<void> {
  await pool.query(`create or replace function millrace.clock() returns timestamptz language sql stable parallel safe
    as $$ select timestamptz '2026-03-01 ${time}+00' $$`);
}

/** Attempts by bucket of the wait and of the run. */
async function attempts(jobType: string, ...buckets: readonly (readonly [wait: number, run: number, count: number])[]) {
  for (const values of buckets) {
    await pool.query(`insert into millrace.job_timings values ($1, 'succeeded', $2, $3, $4, 1, 1)`, [
      jobType,
      ...values,
    ]);
    await pool.query(`insert into millrace.job_events values ('succeeded', $1, 'succeeded', $2)`, [jobType, values[2]]);
  }
}

async function fold(): Promise<void> {
  await foldEvents(db);
  await foldTimings(db);
}

async function read(wish: SeriesWish): Promise<ReadSeries> {
  const found = await readSeries(db, wish);
  if ('fault' in found) throw new Error(found.fault);
  return found;
}

beforeEach(async () => {
  await pool.query(`delete from millrace.job_numbers; delete from millrace.job_timings;
    delete from millrace.job_events; delete from millrace.removed_handlers`);
  await at('10:00:10');
  await deploy(db, { jobType: 'mail' }, { jobType: 'index' }, { jobType: 'gone' });
  await deploy(db, { jobType: 'mail' }, { jobType: 'index' });
});

it('fills gaps with zeros, and the percentiles of the interval are those of all its attempts', async () => {
  await attempts('mail', [0, 5, 10]);
  await fold();
  await at('10:02:00');
  await attempts('mail', [4, 5, 30]);
  await insertJobs(pool, 'mail', 2);
  await fold();
  await at('10:03:30');

  const { step, times, series } = await read({ since: '4m', jobTypes: ['mail'] });

  const [mail] = series;
  expect([step, times.map((time) => time.toISOString().slice(11, 16))]).toEqual([
    'minute',
    ['09:59', '10:00', '10:01', '10:02', '10:03'],
  ]);
  expect(mail?.points).toMatchObject({ succeeded: [0, 10, 0, 30, 0], enqueued: [0, 0, 0, 2, 0] });
  // Ten waits up to 10 ms, then 30 from 0.25 s to 0.5 s; runs from 0.5 s to 1 s.
  expect(mail?.points.wait_p50).toEqual([null, 0.005, null, 0.375, null]);
  expect(mail?.points.run_p95).toEqual([null, 0.975, null, 0.975, null]);
  expect(mail?.totals).toMatchObject({ succeeded: 40, enqueued: 2, failed: 0, wait_p50: 0.333, wait_p95: 0.483 });
});

it('shows all job types, and then each one that has a handler or events', async () => {
  await insertJobs(pool, 'mail', 2);
  await insertJobs(pool, 'typo', 3);
  await fold();

  const totals = async (wish: SeriesWish) =>
    (await read(wish)).series.map(({ jobType, totals: { enqueued } }) => [jobType, enqueued]);

  expect(await totals({})).toEqual([['_all', 5]]);
  expect(await totals({ byJobType: true })).toEqual([
    ['_all', 5],
    ['index', 0],
    ['mail', 2],
    ['_other', 3],
  ]);
  expect(await totals({ jobTypes: ['gone', 'mail', 'gone'] })).toEqual([
    ['gone', 0],
    ['mail', 2],
  ]);
  await attempts('gone', [1, 1, 1]);
  await fold();
  expect((await totals({ byJobType: true, step: 'hour' })).map(([jobType]) => jobType)).toContain('gone');
});

it('refuses job types that never had a handler, and more points than a response can contain', async () => {
  await deploy(db, ...Array.from({ length: 20 }, (_, n) => ({ jobType: `many_${n}` })));

  const faults = [{ jobTypes: ['malil'] }, { byJobType: true, since: '1d', step: 'minute' }] as const;
  const found = await Promise.all(faults.map((wish) => readSeries(db, wish)));

  expect(found).toEqual([
    { parameter: 'job_type', fault: 'job_type: no handler of malil is or was deployed; did you mean mail?' },
    {
      parameter: 'since',
      fault: expect.stringMatching(/^since: 25 series with 1441 points each have more than 20000/),
    },
  ]);
});

it('operators read zeros and percentiles with SQL', async () => {
  await attempts('mail', [14, 0, 3]);
  await fold();
  const login = await createLogin(test, 'millrace_operator');
  const client = await createClient(login.url);

  const { rows } = await client.query(`select at, enqueued::int, succeeded::int, wait_p50, run_p50
    from millrace.job_series where step = 'hour' and job_type = 'mail'`);
  await client.end();
  await login.drop();

  // The last bucket has no upper bound.
  const at = new Date('2026-03-01T10:00:00Z');
  expect(rows).toEqual([{ at, enqueued: 0, succeeded: 3, wait_p50: 900, run_p50: 0.005 }]);
});
