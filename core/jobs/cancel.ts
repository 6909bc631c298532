import type { Database, Queryable } from '../postgres/database.ts';
import { advance, type Part } from '../postgres/step.ts';

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
// finished or deleted one. Checks $3 requests and handles up to $2: those of jobs in flight must not hide the others.
const APPLY_CANCEL_REQUESTS = `
  with looked as materialized (
    select job_id from millrace.cancel_requests where job_id > coalesce($1::bigint, 0) order by job_id limit $3
  ), live as materialized (
    select id, in_flight from millrace.jobs_live where id = any(array(select job_id from looked))
  ), open as materialized (
    select job_id from looked except select id from live where in_flight order by job_id limit $2
  ), locked as materialized (
    select j.id from millrace.jobs_live j
      where j.id = any(array(select job_id from open)) and j.status in ('pending', 'failed', 'dead_letter')
      order by j.id for update of j skip locked
  ), dropped as (
    delete from millrace.cancel_requests
      where job_id = any(array(select job_id from open except select id from live))
  ), cancelled as (
    select millrace.finish_cancelled(array_agg(id), 'cancelled on request') as id from locked having count(*) > 0
  )
  select array(select id::text from cancelled) as ids,
         case when (select count(*) from open) = $2 then (select max(job_id) from open)
              when (select count(*) from looked) = $3 then (select max(job_id) from looked) end::text as position`;
const APPLY = { name: 'cancel_requests', everySeconds: 0 };
const LOOKED_AT = 5000;

/**
 * Applies open cancel requests of jobs that wait or are dead, up to `limit` of the next 5000, and returns the ids of
 * the cancelled jobs. The next call continues there.
 */
export async function applyCancelRequests(db: Database, limit: number): Promise<readonly string[]> {
  const part = await advance(db, APPLY, async (tx, position) => {
    const values = [position, limit, LOOKED_AT];
    const { rows } = await tx.query<Part & { ids: string[] }>(APPLY_CANCEL_REQUESTS, values);
    return rows[0] ?? { ids: [], position: null };
  });
  return part?.ids ?? [];
}
