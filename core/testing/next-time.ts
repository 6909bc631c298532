import type { JobStatus } from '../job.ts';
import type { Queryable } from '../postgres/queryable.ts';

// Only what a dispatcher would send: jobs of handlers that are deployed and not paused, unless they wait for children.
// Times of Postgres have microseconds; rounded up to what a Date can express, they have certainly come.
const READ_NEXT_TIME = `
  select millrace.clock() as now, job.id::text as "jobId",
         date_trunc('milliseconds', job.due_at + interval '999 microseconds') as job,
         date_trunc('milliseconds', tick.at + interval '999 microseconds') as tick
    from (select) one
      left join lateral (
        select j.id, greatest(j.due_at, h.held_until) as due_at from millrace.jobs_live j
          join millrace.handlers h on h.job_type = j.job_type and h.routing_key = j.routing_key
          where j.due_at is not null and h.paused_at is null
            and not exists (select from millrace.job_joins g where g.job_id = j.id and g.ended_at is null)
          order by 2, 1 limit 1) job on true
      left join lateral (
        select min(s.next_tick_at) as at from millrace.schedules s
          where s.paused_at is null and s.fault is null and isfinite(s.next_tick_at)) tick on true`;

/** The time of a database, and what it waits for. */
export interface NextTime {
  readonly now: Date;
  /** Due time of the first job that waits for its handler; null without one. */
  readonly job: Date | null;
  readonly jobId: string | null;
  /** The next tick of a schedule; null without one. */
  readonly tick: Date | null;
}

export async function readNextTime(db: Queryable): Promise<NextTime> {
  const { rows } = await db.query<NextTime>(READ_NEXT_TIME);
  return rows[0] as NextTime;
}

const READ_JOB = `select payload, result, status from millrace.jobs where id = $1`;

/** What a job contains after an attempt. */
export interface StoredJob {
  readonly payload: unknown;
  readonly result: unknown;
  readonly status: JobStatus;
}

/** Returns a job; undefined if it was deleted. */
export async function readJob(db: Queryable, id: string): Promise<StoredJob | undefined> {
  return (await db.query<StoredJob>(READ_JOB, [id])).rows[0];
}
