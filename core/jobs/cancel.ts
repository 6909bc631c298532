import type { Queryable } from '../postgres/database.ts';

export type CancelAnswer =
  /** The job is cancelled. */
  | 'cancelled'
  /** The job is dispatched or running, and start, settle or rescue applies the stored request. */
  | 'requested'
  /** The job was already finished. */
  | 'finished'
  /** No job has this id. */
  | 'not_found';

const CANCEL_JOB = `select millrace.cancel($1::bigint) as answer`;

/** Cancels a job, or stores a cancel request when it is dispatched or running. */
export async function cancel(db: Queryable, jobId: string): Promise<CancelAnswer> {
  const { rows } = await db.query<{ answer: CancelAnswer }>(CANCEL_JOB, [jobId]);
  return rows[0]?.answer ?? 'not_found';
}

// Handles requests for jobs that are neither dispatched nor running: cancels the job, or deletes the request of a
// finished or deleted one.
const APPLY_CANCEL_REQUESTS = `
  with open as materialized (
    select job_id from millrace.cancel_requests order by job_id limit $1
  ), live as materialized (
    select id, in_flight from millrace.jobs_live where id = any(array(select job_id from open))
  ), locked as materialized (
    select j.id from millrace.jobs_live j
      where j.id = any(array(select id from live where not in_flight))
        and j.status in ('pending', 'failed', 'dead_letter')
      order by j.id for update of j skip locked
  ), dropped as (
    delete from millrace.cancel_requests
      where job_id = any(array(select job_id from open except select id from live))
  )
  select millrace.finish_cancelled(array_agg(id), 'cancelled on request') as id from locked having count(*) > 0`;

/** Applies open cancel requests of jobs that wait or are dead, and returns the ids of the cancelled jobs. */
export async function applyCancelRequests(db: Queryable, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(APPLY_CANCEL_REQUESTS, [limit]);
  return rows.map(({ id }) => id);
}
