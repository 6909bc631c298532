import type { HandlerAddress } from '../handler/naming.ts';
import { LIVE_STATUSES } from '../job.ts';
import type { Queryable } from '../postgres/database.ts';

type LiveStatus = (typeof LIVE_STATUSES)[number];

/** The number of unfinished jobs of one status and handler. */
export interface LiveCount extends HandlerAddress {
  readonly status: LiveStatus;
  readonly count: number;
}

export interface LiveCounts {
  readonly counts: readonly LiveCount[];
  /** Time of the count: now or, with many jobs, within the last minutes. Null before the first count. */
  readonly countedAt: Date | null;
}

// Counts up to 50,000 unfinished jobs while the caller waits; of more, it reads the mirror's last count. The last row
// only carries the time of the count, because a count may find no jobs.
const READ_COUNTS = `
  with few as (
    select count(*) <= 50000 as yes from (select from millrace.jobs_live limit 50001) sample
  )
  select status, job_type as "jobType", routing_key as "routingKey", count(*)::float8 as count,
         millrace.clock() as "countedAt"
    from millrace.jobs_live where (select yes from few) group by status, job_type, routing_key
  union all
  select status, job_type, routing_key, count::float8, counted_at from millrace.job_counts
    where count > 0 and not (select yes from few)
  union all
  select null, '', '', 0, millrace.clock() from few where yes
  order by 1 nulls last, 2, 3`;

/** Returns the number of unfinished jobs by status and address, whether or not a handler is deployed for it. */
export async function readLiveCounts(db: Queryable): Promise<LiveCounts> {
  const { rows } = await db.query<LiveCount & { status: LiveStatus | null; countedAt: Date }>(READ_COUNTS);
  const counts = rows.filter(({ status }) => status !== null);
  return {
    counts: counts.map(({ countedAt: _at, ...count }) => count),
    countedAt: rows[0]?.countedAt ?? null,
  };
}

/** Returns the counts of one handler; null before the first count. */
export function countsOf(
  { counts, countedAt }: LiveCounts,
  { jobType, routingKey }: HandlerAddress,
): Readonly<Record<LiveStatus, number>> | null {
  if (countedAt === null) return null;
  const own = counts.filter((one) => one.jobType === jobType && one.routingKey === routingKey);
  const numberOf = (wanted: LiveStatus) => own.find(({ status }) => status === wanted)?.count ?? 0;
  return Object.fromEntries(LIVE_STATUSES.map((status) => [status, numberOf(status)])) as Record<LiveStatus, number>;
}
