import type { HandlerAddress } from '../handler/naming.ts';
import { LIVE_STATUSES } from '../job.ts';
import type { Queryable } from '../postgres/database.ts';

type LiveStatus = (typeof LIVE_STATUSES)[number];

/** The name under which the numbers of further job types are added up. No job type begins with `_`. */
export const OTHERS = '_other';
/** Job types without a handler that are named: a producer can mistype a job type in any number of ways. */
export const MOST_UNHANDLED = 100;

/** The number of unfinished jobs of one status and job type, or of further job types. */
export interface TypeCount {
  readonly status: LiveStatus;
  readonly jobType: string;
  readonly count: number;
}

/** The number of unfinished jobs of one status and handler. */
export interface HandlerCount extends TypeCount, HandlerAddress {}

export interface LiveCounts<Count> {
  readonly counts: readonly Count[];
  /** Time of the count: now or, with many jobs, within the last minutes. Null before the first count. */
  readonly countedAt: Date | null;
}

// Both statements count up to 50,000 unfinished jobs while the caller waits; of more, they read the mirror's last
// count. The last row only carries the time of the count, because a count may find no jobs. The database adds up the
// job types without a handler, of which a single statement of a producer can write any number.
const READ_TYPE_COUNTS = `
  with few as (
    select count(*) <= 50000 as yes from (select from millrace.jobs_live limit 50001) sample
  ), counted as materialized (
    select status, job_type, count(*) as count from millrace.jobs_live
      where (select yes from few) group by status, job_type
    union all
    select status, job_type, sum(count) from millrace.job_counts
      where count > 0 and not (select yes from few) group by status, job_type
  ), named as materialized (
    select job_type from millrace.handlers
    union
    (select distinct job_type from counted
       where job_type <> $1 and job_type not in (select job_type from millrace.handlers) order by job_type limit $2)
  )
  select status, case when job_type in (select job_type from named) then job_type else $1 end as "jobType",
         sum(count)::float8 as count, null::timestamptz as "countedAt"
    from counted group by 1, 2
  union all
  select null, '', 0, case when yes then millrace.clock()
      else (select max(counted_at) from millrace.job_counts where count > 0) end from few
  order by 1 nulls last, 2`;

const READ_HANDLER_COUNTS = `
  with few as (
    select count(*) <= 50000 as yes from (select from millrace.jobs_live limit 50001) sample
  ), counted as (
    select j.status, h.job_type, h.routing_key, count(*)::float8 as count
      from millrace.handlers h join millrace.jobs_live j on j.job_type = h.job_type and j.routing_key = h.routing_key
      where (select yes from few) group by j.status, h.job_type, h.routing_key
    union all
    select c.status, h.job_type, h.routing_key, c.count::float8
      from millrace.handlers h join millrace.job_counts c on c.job_type = h.job_type and c.routing_key = h.routing_key
      where c.count > 0 and not (select yes from few)
  )
  select status, job_type as "jobType", routing_key as "routingKey", count, null::timestamptz as "countedAt"
    from counted
  union all
  select null, '', '', 0, case when yes then millrace.clock()
      else (select max(counted_at) from millrace.job_counts where count > 0) end from few
  order by 1 nulls last, 2, 3`;

/**
 * Returns the number of unfinished jobs by status and job type. It names the job types with a handler and the first 100
 * others, and adds up the rest.
 */
export async function readTypeCounts(db: Queryable): Promise<LiveCounts<TypeCount>> {
  return toCounts((await db.query<Row<TypeCount>>(READ_TYPE_COUNTS, [OTHERS, MOST_UNHANDLED])).rows);
}

/** Returns the number of unfinished jobs by status and deployed handler. */
export async function readHandlerCounts(db: Queryable): Promise<LiveCounts<HandlerCount>> {
  return toCounts((await db.query<Row<HandlerCount>>(READ_HANDLER_COUNTS)).rows);
}

type Row<Count> = Count & { readonly status: LiveStatus | null; readonly countedAt: Date | null };

function toCounts<Count extends TypeCount>(rows: readonly Row<Count>[]): LiveCounts<Count> {
  const counts = rows.filter(({ status }) => status !== null);
  return {
    counts: counts.map(({ countedAt: _at, ...count }) => count as Count),
    countedAt: rows.at(-1)?.countedAt ?? null,
  };
}

/** Returns the counts of one handler; null before the first count. */
export function countsOf(
  { counts, countedAt }: LiveCounts<HandlerCount>,
  { jobType, routingKey }: HandlerAddress,
): Readonly<Record<LiveStatus, number>> | null {
  if (countedAt === null) return null;
  const own = counts.filter((one) => one.jobType === jobType && one.routingKey === routingKey);
  const numberOf = (wanted: LiveStatus) => own.find(({ status }) => status === wanted)?.count ?? 0;
  return Object.fromEntries(LIVE_STATUSES.map((status) => [status, numberOf(status)])) as Record<LiveStatus, number>;
}
