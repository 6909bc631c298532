import type { Queryable } from '../postgres/database.ts';
import { countSchedules, type SchedulesIn } from './count-schedules.ts';

// One statement reads the totals and the rows not yet added to them in one snapshot, so each event counts exactly once.
// It names the job types that have or had a handler, as the fold does.
const READ_EVENTS = `
  select event, job_type, status, sum(count)::float8 as value from (
      select event, job_type, status, count from millrace.job_event_totals
      union all select event, case when job_type in (
          select job_type from millrace.handlers union select job_type from millrace.removed_handlers)
        then job_type else '_other' end, status, count from millrace.job_events) e
    group by event, job_type, status order by event, job_type, status`;

const READ_TIMINGS = `
  with measured as (
    select measure, job_type, outcome, bucket, count, seconds from millrace.job_timing_totals
    union all select 'wait', job_type, outcome, wait_bucket, count, wait_seconds from millrace.job_timings
    union all select 'run', job_type, outcome, run_bucket, count, run_seconds from millrace.job_timings
  )
  select measure, job_type as "jobType", case measure when 'run' then outcome else '' end as outcome, bucket,
         sum(count)::float8 as count, sum(seconds)::float8 as seconds
    from measured group by 1, 2, 3, 4 order by 1, 2, 3, 4`;

const READ_DISPATCHER = `
  select r.round_buckets::float8[] as buckets, r.round_seconds as seconds, r.failed_rounds::float8 as failed,
         extract(epoch from r.last_round_at)::float8 as "lastRoundAt"
    from millrace.dispatcher_runs r`;

const READ_DISPATCH_TOTALS = `select measure, label, count::float8 as value from millrace.dispatch_totals order by 1, 2`;

const READ_HANDLERS = `
  select concat_ws('.', h.job_type, nullif(h.routing_key, '')) as handler, h.paused_at is not null as paused,
         substring(h.dead_letter_queue_url from '[^/]+$') as queue, coalesce(q.depth, 0)::float8 as depth,
         (select count(*)::float8 from millrace.dead_letters d
            where d.status = 'open' and d.job_type = h.job_type and d.routing_key = h.routing_key) as dead
    from millrace.handlers h
    left join millrace.dead_letter_queues q on q.queue_url = h.dead_letter_queue_url
    order by 1`;

const READ_BOUNDS = `select millrace.timing_bounds() as bounds`;

/** One bucket of a histogram's series, not cumulative; the last bucket has no upper bound. */
export interface TimingRow {
  readonly measure: 'wait' | 'run';
  readonly jobType: string;
  /** Outcome of the attempts; empty for waits. */
  readonly outcome: string;
  readonly bucket: number;
  readonly count: number;
  readonly seconds: number;
}

export interface HandlerNumbers {
  readonly handler: string;
  readonly paused: boolean;
  /** Name of the dead-letter queue. */
  readonly queue: string;
  /** Number of its messages at the last count of the mirror. */
  readonly depth: number;
  /** Number of open dead letters in the table. */
  readonly dead: number;
}

export interface MetricRows {
  readonly events: readonly EventCount[];
  readonly timings: readonly TimingRow[];
  /** `lastRoundAt` is in seconds since 1970; null before the first round. */
  readonly dispatcher: { buckets: readonly number[]; seconds: number; failed: number; lastRoundAt: number | null };
  readonly dispatches: readonly { measure: 'sent' | 'error'; label: string; value: number }[];
  readonly handlers: readonly HandlerNumbers[];
  readonly schedules: readonly SchedulesIn[];
  /** Upper bounds of the buckets, in seconds. */
  readonly bounds: readonly number[];
}

/** Returns the pause and the dead letters of each handler. */
export async function readHandlerNumbers(db: Queryable): Promise<HandlerNumbers[]> {
  const { rows } = await db.query<HandlerNumbers>(READ_HANDLERS);
  return rows;
}

export interface EventCount {
  readonly event: string;
  readonly job_type: string;
  readonly status: string;
  readonly value: number;
}

/** Returns how often each event has happened since the first migration. */
export async function readEvents(db: Queryable): Promise<EventCount[]> {
  const { rows } = await db.query<EventCount>(READ_EVENTS);
  return rows;
}

/** Returns all metrics of `/metrics` except the numbers of unfinished jobs. */
export async function readMetrics(db: Queryable): Promise<MetricRows> {
  const events = await readEvents(db);
  const { rows: timings } = await db.query<TimingRow>(READ_TIMINGS);
  const { rows: dispatcher } = await db.query<MetricRows['dispatcher']>(READ_DISPATCHER);
  const { rows: dispatches } = await db.query<MetricRows['dispatches'][number]>(READ_DISPATCH_TOTALS);
  const handlers = await readHandlerNumbers(db);
  const schedules = await countSchedules(db);
  const { rows: bounds } = await db.query<{ bounds: number[] }>(READ_BOUNDS);
  return {
    ...{ events, timings, dispatches, handlers, schedules },
    dispatcher: dispatcher[0] ?? { buckets: [], seconds: 0, failed: 0, lastRoundAt: null },
    bounds: bounds[0]?.bounds ?? [],
  };
}
