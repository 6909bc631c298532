import { type Duration, seconds } from '../duration.ts';
import type { JobStatus } from '../job.ts';
import type { Queryable } from '../postgres/database.ts';

/** A job in a list, without its payload and result, which can be a megabyte each. */
export interface ListedJob {
  readonly id: string;
  readonly jobType: string;
  readonly routingKey: string;
  readonly status: JobStatus;
  readonly priority: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly runAt: Date;
  readonly nextRetryAt: Date | null;
  /** Time from which it is due; null unless it waits. */
  readonly dueAt: Date | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly lastError: string | null;
}

export interface ListFilter {
  /** Matches any of these; an empty list matches all. */
  readonly statuses: readonly JobStatus[];
  readonly jobTypes: readonly string[];
  readonly routingKey?: string | undefined;
  readonly uniqueKey?: string | undefined;
  /** Part of the error's text, ignoring case. */
  readonly error?: string | undefined;
  /** Earliest creation time: a time, or a duration before now by the database's clock. */
  readonly since?: Date | Duration | undefined;
  /** Latest creation time, in the same forms. */
  readonly createdTo?: Date | Duration | undefined;
  /** Largest number of jobs to return. */
  readonly limit: number;
}

// Reads the newest jobs from the primary key of each partition; the slots exclude partitions without these statuses.
const LIST_JOBS = `
  select id, job_type as "jobType", routing_key as "routingKey", status, priority, attempts,
         max_attempts as "maxAttempts", run_at as "runAt", next_retry_at as "nextRetryAt", due_at as "dueAt",
         created_at as "createdAt", finished_at as "finishedAt", last_error as "lastError"
    from millrace.jobs
    where slot = any($1::smallint[])
      and (cardinality($2::text[]) = 0 or status = any($2::text[]))
      and (cardinality($3::text[]) = 0 or job_type = any($3::text[]))
      and created_at >= coalesce($4::timestamptz, millrace.clock() - make_interval(secs => $5::float8), '-infinity')
      and created_at <= coalesce($6::timestamptz, millrace.clock() - make_interval(secs => $7::float8), 'infinity')
      and ($8::text is null or routing_key = $8) and ($9::text is null or unique_key = $9)
      and ($10::text is null or position(lower($10) in lower(last_error)) > 0)
    order by id desc limit $11`;

const FINISHED: readonly JobStatus[] = ['succeeded', 'skipped', 'cancelled'];
const FINISHED_SLOTS = Array.from({ length: 32 }, (_, index) => index + 1);

/** Returns the jobs that match the filter, the newest first. */
export async function listJobs(db: Queryable, filter: ListFilter): Promise<ListedJob[]> {
  const { statuses, jobTypes, routingKey, uniqueKey, error, since, createdTo, limit } = filter;
  const all = statuses.length === 0;
  const live = all || statuses.some((status) => !FINISHED.includes(status));
  const finished = all || statuses.some((status) => FINISHED.includes(status));
  const slots = [...(live ? [0] : []), ...(finished ? FINISHED_SLOTS : [])];
  const { rows } = await db.query<ListedJob>(LIST_JOBS, [
    ...[slots, statuses, jobTypes, ...boundary(since), ...boundary(createdTo)],
    ...[routingKey ?? null, uniqueKey ?? null, error ?? null, limit],
  ]);
  return rows;
}

/** Returns a time, and the seconds before now; at least one is null. */
function boundary(at: Date | Duration | undefined): [time: string | null, ago: number | null] {
  if (at === undefined) return [null, null];
  return at instanceof Date ? [at.toISOString(), null] : [null, seconds(at, 'duration')];
}
