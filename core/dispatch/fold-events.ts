import type { Database } from '../postgres/database.ts';

/** The events of one series that were added to its total. */
export interface FoldedEvents {
  readonly event: string;
  readonly jobType: string;
  readonly count: number;
}

// One transaction deletes each row and adds it to its total, so a reader of totals plus rows counts it exactly once. It
// also adds it to the minute and the hour of its job type and of all job types. Job types that never had a handler
// share one series, as in core/numbers/read-metrics.ts: a producer can mistype a job type in any number of ways.
const FOLD_EVENTS = `
  with folded as (
    delete from millrace.job_events where ctid = any(array(select ctid from millrace.job_events limit $1))
      returning event, job_type, status, count
  ), named as (
    select event, status, count, case when job_type in (
        select job_type from millrace.handlers union select job_type from millrace.removed_handlers)
      then job_type else '_other' end as job_type from folded
  ), sums as (
    select event, job_type, status, sum(count) as count from named
      group by event, job_type, status order by event, job_type, status
  ), by_type as (
    select coalesce(job_type, '_all') as job_type, sum(count) filter (where event = 'enqueued') as enqueued,
           sum(count) filter (where event = 'succeeded') as succeeded,
           sum(count) filter (where event = 'failed') as failed,
           sum(count) filter (where event = 'retried') as retried,
           sum(count) filter (where event = 'dead_lettered') as dead_lettered,
           sum(count) filter (where event = 'manual_retry') as manual_retry,
           sum(count) filter (where event = 'skipped') as skipped,
           sum(count) filter (where event = 'cancelled') as cancelled
      from sums group by grouping sets ((job_type), ()) having count(*) > 0
  ), series as (
    insert into millrace.job_numbers as n (step, at, job_type, enqueued, succeeded, failed, retried, dead_lettered,
        manual_retry, skipped, cancelled)
      select step, date_trunc(step, millrace.clock(), 'UTC'), job_type, enqueued, succeeded, failed, retried,
             dead_lettered, manual_retry, skipped, cancelled
        from by_type, (values ('hour'), ('minute')) as s(step) order by step, job_type
      on conflict (step, at, job_type) do update set
        enqueued = coalesce(n.enqueued + excluded.enqueued, n.enqueued, excluded.enqueued),
        succeeded = coalesce(n.succeeded + excluded.succeeded, n.succeeded, excluded.succeeded),
        failed = coalesce(n.failed + excluded.failed, n.failed, excluded.failed),
        retried = coalesce(n.retried + excluded.retried, n.retried, excluded.retried),
        dead_lettered = coalesce(n.dead_lettered + excluded.dead_lettered, n.dead_lettered, excluded.dead_lettered),
        manual_retry = coalesce(n.manual_retry + excluded.manual_retry, n.manual_retry, excluded.manual_retry),
        skipped = coalesce(n.skipped + excluded.skipped, n.skipped, excluded.skipped),
        cancelled = coalesce(n.cancelled + excluded.cancelled, n.cancelled, excluded.cancelled)
  ), totals as (
    insert into millrace.job_event_totals as t (event, job_type, status, count)
      select event, job_type, status, count from sums
      on conflict (event, job_type, status) do update set count = t.count + excluded.count
  )
  select (select count(*)::integer from folded) as rows, coalesce((
    select jsonb_agg(jsonb_build_object('event', event, 'jobType', job_type, 'count', count)) from sums s
      where exists (select from millrace.handlers h where h.job_type = s.job_type)), '[]') as events`;

/** Rows of one statement, and statements of one call: more rows than a busy installation appends meanwhile. */
const MOST_ROWS = 20_000;
const MOST_PARTS = 5;

/**
 * Adds the rows of the counters to their totals, minutes and hours. Returns the events that it added for job types with
 * a handler: a mistyped job type must not create a metric.
 */
export async function foldEvents(db: Database): Promise<FoldedEvents[]> {
  const all = new Map<string, FoldedEvents>();
  await inParts(async () => {
    const { rows } = await db.query<{ rows: number; events: FoldedEvents[] }>(FOLD_EVENTS, [MOST_ROWS]);
    for (const one of rows[0]?.events ?? []) {
      const series = `${one.event} ${one.jobType}`;
      all.set(series, { ...one, count: one.count + (all.get(series)?.count ?? 0) });
    }
    return rows[0]?.rows ?? 0;
  });
  return [...all.values()];
}

/** Repeats a statement while it finds as many rows as it may, so that the rows do not become more and more. */
async function inParts(fold: () => Promise<number>): Promise<void> {
  for (let parts = 0; parts < MOST_PARTS; parts++) if ((await fold()) < MOST_ROWS) return;
}

const FOLD_TIMINGS = `
  with folded as (
    delete from millrace.job_timings where ctid = any(array(select ctid from millrace.job_timings limit $1))
      returning *
  ), measured as (
    select 'wait' as measure, job_type, outcome, wait_bucket as bucket, count, wait_seconds as seconds from folded
    union all select 'run', job_type, outcome, run_bucket, count, run_seconds from folded
  ), sums as (
    select measure, job_type, outcome, bucket, sum(count) as count, sum(seconds) as seconds from measured
      group by measure, job_type, outcome, bucket order by measure, job_type, outcome, bucket
  ), padded as (
    select measure, job_type, bucket::integer as bucket, count from sums
    union all select measure, job_type, n, 0
      from (select measure, job_type, max(bucket)::integer as last from sums group by measure, job_type) l,
           generate_series(0, l.last) as n
  ), buckets as (
    select measure, coalesce(job_type, '_all') as job_type, bucket, sum(count)::bigint as count
      from padded group by grouping sets ((measure, job_type, bucket), (measure, bucket))
  ), by_type as (
    select job_type, array_agg(count order by bucket) filter (where measure = 'wait') as wait_counts,
           array_agg(count order by bucket) filter (where measure = 'run') as run_counts
      from buckets group by job_type
  ), series as (
    insert into millrace.job_numbers as n (step, at, job_type, wait_counts, run_counts)
      select step, date_trunc(step, millrace.clock(), 'UTC'), job_type, wait_counts, run_counts
        from by_type, (values ('hour'), ('minute')) as s(step) order by step, job_type
      on conflict (step, at, job_type) do update set
        wait_counts = millrace.add_counts(n.wait_counts, excluded.wait_counts),
        run_counts = millrace.add_counts(n.run_counts, excluded.run_counts)
  ), totals as (
    insert into millrace.job_timing_totals as t (measure, job_type, outcome, bucket, count, seconds)
      select measure, job_type, outcome, bucket, count, seconds from sums
      on conflict (measure, job_type, outcome, bucket) do update
        set count = t.count + excluded.count, seconds = t.seconds + excluded.seconds
  )
  select count(*)::integer as rows from folded`;

/** Adds the rows of wait times and durations to their totals, minutes and hours. */
export async function foldTimings(db: Database): Promise<void> {
  await inParts(async () => (await db.query<{ rows: number }>(FOLD_TIMINGS, [MOST_ROWS])).rows[0]?.rows ?? 0);
}
