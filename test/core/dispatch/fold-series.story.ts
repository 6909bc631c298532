import { beforeEach, expect, it } from 'vitest';
import { foldEvents, foldTimings } from '../../../core/dispatch/fold-events.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { historyPrunes } from '../../../core/upkeep/prune.ts';
import { randomFrom } from '../../support/random.ts';
import { deploy, shiftClock } from '../../support/runtime-engine.ts';
import { openMaintainWorld } from './maintain-world.ts';

const { pool, db } = await openMaintainWorld();

const EVENTS = `
  insert into millrace.job_events select (array['enqueued', 'succeeded', 'failed', 'retried', 'dead_lettered',
      'manual_retry', 'skipped', 'cancelled'])[1 + (n * $1) % 8], (array['mail', 'index', 'gone', 'typo_a', 'typo_b'])
      [1 + (n * $2) % 5], (array['pending', 'failed'])[1 + n % 2], 1 + n % 9
    from generate_series(1, $3::int) n`;
const TIMINGS = `
  insert into millrace.job_timings select (array['mail', 'index', 'gone'])[1 + (n * $1) % 3],
      (array['succeeded', 'failed', 'snoozed'])[1 + (n * $2) % 3], (n * $1) % 15, (n * $2) % 15, 1 + n % 7, 1, 1
    from generate_series(1, $3::int) n`;
/** What the minutes or hours from a time on add up to: event counts, and attempts by bucket. */
const SUMS = `
  with read as (select * from millrace.job_numbers where step = $1 and at >= $2)
  select name, job_type, sum(count)::int as count from (
      select e.name, job_type, e.count from read, lateral (values ('enqueued', enqueued), ('succeeded', succeeded),
          ('failed', failed), ('retried', retried), ('dead_lettered', dead_lettered), ('manual_retry', manual_retry),
          ('skipped', skipped), ('cancelled', cancelled)) e(name, count)
      union all select 'wait ' || n - 1, job_type, c from read, unnest(wait_counts) with ordinality u(c, n)
      union all select 'run ' || n - 1, job_type, c from read, unnest(run_counts) with ordinality u(c, n)) u
    group by 1, 2 having sum(count) > 0 order by 1, 2`;
const TOTALS = `
  with read as (
    select event as name, job_type, count from millrace.job_event_totals
    union all select measure || ' ' || bucket, job_type, count from millrace.job_timing_totals
  )
  select name, coalesce(job_type, '_all') as job_type, sum(count)::int as count from read
    group by grouping sets ((name, job_type), (name)) order by 1, 2`;
const HOUR = 3600;
/** A dispatcher that was off for hours or days, and clocks that were set forward and back. */
const SHIFTS = [20, 61, HOUR, 5 * HOUR, 30 * HOUR, -2 * HOUR, -40 * HOUR];

beforeEach(async () => {
  await pool.query('delete from millrace.job_numbers; delete from millrace.job_timings');
  await pool.query('delete from millrace.job_timing_totals');
  await deploy(db, { jobType: 'mail' }, { jobType: 'index' }, { jobType: 'gone' });
  await deploy(db, { jobType: 'mail' }, { jobType: 'index' });
});

/** A dispatcher whose connection ends before its statement is committed. */
async function foldAndDie(fold: (db: Database) => Promise<unknown>): Promise<void> {
  const client = await pool.connect();
  await client.query('begin');
  await fold({ query: (text: string, values?: unknown[]) => client.query(text, values) } as unknown as Database);
  client.release(true);
}

const foldTwice = () => Promise.all([foldEvents(db), foldTimings(db), foldTimings(db), foldEvents(db)]);

it.each([1, 2, 3, 4])('the minutes and hours add up to the totals, whatever happens: seed %i', async (seed) => {
  const random = randomFrom(seed);
  const upTo = (most: number) => 1 + Math.floor(random() * most);
  const prune = historyPrunes(7 * 24 * HOUR).series;
  let clock = 0;
  let latestPrune = 0;
  const steps = [
    () => pool.query(EVENTS, [upTo(50), upTo(50), upTo(40)]),
    () => pool.query(TIMINGS, [upTo(50), upTo(50), upTo(40)]),
    () => foldEvents(db),
    () => foldTimings(db),
    foldTwice,
    () => foldAndDie(foldEvents),
    () => foldAndDie(foldTimings),
    () => {
      latestPrune = Math.max(latestPrune, clock);
      return prune(db, null);
    },
    () => {
      clock = Math.min(20 * 24 * HOUR, Math.max(0, clock + (SHIFTS[upTo(SHIFTS.length) - 1] ?? 0)));
      return shiftClock(pool, clock);
    },
  ];

  for (let n = 0; n < 150; n++) await steps[upTo(steps.length) - 1]?.();
  await pool.query(EVENTS, [1, 1, 41_000]);
  await foldTwice();
  await foldTwice();

  const sums = async (step: string, from: string) => (await pool.query(SUMS, [step, from])).rows;
  const totals = (await pool.query(TOTALS)).rows;
  expect(totals.length).toBeGreaterThan(100);
  expect(await sums('hour', '-infinity')).toEqual(totals);
  const { rows } = await pool.query(
    `select (date_trunc('hour', now() + make_interval(secs => $1), 'UTC') - interval '24 hours')::text as complete`,
    [latestPrune],
  );
  expect(await sums('minute', rows[0].complete)).toEqual(await sums('hour', rows[0].complete));
});
