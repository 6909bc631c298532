import { FINISHED_STATUSES, type JobStatus } from '../job.ts';
import type { Queryable } from '../postgres/database.ts';
import { MOST_UNHANDLED, OTHERS, readTypeCounts, type TypeCount } from './live-counts.ts';
import { type EventCount, readEvents } from './read-metrics.ts';

/** The number of jobs of one status and type. */
export interface JobCount {
  readonly status: JobStatus;
  readonly jobType: string;
  readonly count: number;
}

/** The longest time that a due job of a type has waited, in seconds. */
export interface OldestDue {
  readonly jobType: string;
  readonly seconds: number;
}

/** The number of recent events of one kind. */
export interface Throughput {
  readonly event: string;
  readonly last5Minutes: number;
  readonly lastHour: number;
}

export interface Stats {
  /** Time of the database's clock. */
  readonly asOf: Date;
  /** The unfinished jobs. */
  readonly jobs: readonly JobCount[];
  /** All jobs that have finished since the first migration, deleted ones included. */
  readonly finished: readonly JobCount[];
  /** Time of the count: now or, with many jobs, within the last minutes. Null before the first count. */
  readonly countedAt: Date | null;
  /** The job types that have a due job. */
  readonly oldestDue: readonly OldestDue[];
  readonly throughput: readonly Throughput[];
  /** Time of the last round; null when no dispatcher ever ran a round. */
  readonly dispatcherLastRoundAt: Date | null;
}

// Ten probes of the claim's index for each handler. For jobs without a handler, a loose scan of that index: one step
// for each address and priority, up to 1,000, because any producer may insert any number of job types.
const READ_OLDEST_DUE = `
  with recursive waiting as (
    (select job_type, routing_key, priority, due_at from millrace.jobs_live where due_at is not null
       order by job_type, routing_key, priority, due_at limit 1)
    union all
    select n.* from waiting w, lateral (
      select j.job_type, j.routing_key, j.priority, j.due_at from millrace.jobs_live j
        where j.due_at is not null and (j.job_type, j.routing_key, j.priority) > (w.job_type, w.routing_key, w.priority)
        order by j.job_type, j.routing_key, j.priority, j.due_at limit 1) n
  ), handled as (
    select h.job_type, first.due_at from millrace.handlers h, generate_series(0, 9) p(priority), lateral (
      select j.due_at from millrace.jobs_live j
        where j.job_type = h.job_type and j.routing_key = h.routing_key and j.priority = p.priority::smallint
          and j.due_at is not null order by j.due_at limit 1) first
  ), looked as (
    select job_type, due_at from handled union all (select job_type, due_at from waiting limit 1000)
  )
  select job_type as "jobType", extract(epoch from millrace.clock() - min(due_at))::float8 as seconds
    from looked group by job_type having min(due_at) <= millrace.clock() order by job_type`;

const READ_THROUGHPUT = `
  with recent as (
    select n.at as minute, e.event, e.count from millrace.job_numbers n, lateral (values
        ('enqueued', n.enqueued), ('succeeded', n.succeeded), ('failed', n.failed), ('retried', n.retried),
        ('dead_lettered', n.dead_lettered), ('manual_retry', n.manual_retry), ('skipped', n.skipped),
        ('cancelled', n.cancelled)) as e(event, count)
      where n.step = 'minute' and n.at >= millrace.clock() - interval '1 hour' and n.job_type = '_all'
        and e.count is not null
    union all select millrace.clock(), event, count from millrace.job_events
  )
  select event, coalesce(sum(count) filter (where minute >= millrace.clock() - interval '5 minutes'), 0)::float8
           as "last5Minutes", sum(count)::float8 as "lastHour"
    from recent group by event order by event`;

const READ_LAST_ROUND = `
  select millrace.clock() as "asOf", last_round_at as "lastRoundAt" from millrace.dispatcher_runs`;

const READ_HANDLED_TYPES = `select distinct job_type as "jobType" from millrace.handlers`;

/** Returns the job types that have due jobs, each with the age of its oldest. */
export async function readOldestDue(db: Queryable): Promise<OldestDue[]> {
  const { rows } = await db.query<OldestDue>(READ_OLDEST_DUE);
  return rows;
}

/** Returns how often each event happened in the last 5 minutes and the last hour. */
export async function readThroughput(db: Queryable): Promise<Throughput[]> {
  const { rows } = await db.query<Throughput>(READ_THROUGHPUT);
  return rows;
}

/**
 * Returns the statistics, in a few reads that are bounded regardless of the size of the tables. It names the job types
 * with a handler and up to 100 others, and adds up the rest under `_other`.
 */
export async function readStats(db: Queryable): Promise<Stats> {
  const { counts, countedAt } = await readTypeCounts(db);
  const oldestDue = await readOldestDue(db);
  const throughput = await readThroughput(db);
  const { rows: handled } = await db.query<{ jobType: string }>(READ_HANDLED_TYPES);
  const nameOf = namer(handled, [...counts, ...oldestDue]);
  const { rows: rounds } = await db.query<{ asOf: Date; lastRoundAt: Date | null }>(READ_LAST_ROUND);
  return {
    asOf: rounds[0]?.asOf ?? new Date(0),
    jobs: addUp(counts, nameOf),
    finished: finishedOf(await readEvents(db)),
    countedAt,
    oldestDue: oldestOf(oldestDue, nameOf),
    throughput,
    dispatcherLastRoundAt: rounds[0]?.lastRoundAt ?? null,
  };
}

interface OfJobType {
  readonly jobType: string;
}

/** Returns the function that names a job type: by itself, or as one of the others. */
function namer(handled: readonly OfJobType[], all: readonly OfJobType[]): (one: OfJobType) => string {
  const named = new Set([OTHERS, ...handled.map(({ jobType }) => jobType)]);
  const unhandled = new Set(all.map(({ jobType }) => jobType).filter((jobType) => !named.has(jobType)));
  for (const jobType of [...unhandled].sort().slice(0, MOST_UNHANDLED)) named.add(jobType);
  return ({ jobType }) => (named.has(jobType) ? jobType : OTHERS);
}

/** Adds up the counts by status and type, in their order. */
function addUp(counts: readonly TypeCount[], nameOf: (one: OfJobType) => string): JobCount[] {
  const sums = new Map<string, JobCount>();
  for (const one of counts) {
    const { status, count } = one;
    const jobType = nameOf(one);
    const name = `${status} ${jobType}`;
    sums.set(name, { status, jobType, count: count + (sums.get(name)?.count ?? 0) });
  }
  return [...sums.values()];
}

/** Adds up the events that finish a job, by status and type. */
function finishedOf(events: readonly EventCount[]): JobCount[] {
  return FINISHED_STATUSES.flatMap((status) => {
    const types = Map.groupBy(
      events.filter(({ event }) => event === status),
      (one) => one.job_type,
    );
    return [...types].map(([jobType, some]) => ({
      status,
      jobType,
      count: some.reduce((sum, { value }) => sum + value, 0),
    }));
  });
}

function oldestOf(all: readonly OldestDue[], nameOf: (one: OfJobType) => string): OldestDue[] {
  const groups = Map.groupBy(all, nameOf);
  return [...groups].map(([jobType, some]) => ({ jobType, seconds: Math.max(...some.map(({ seconds }) => seconds)) }));
}
