import type { Queryable } from '../postgres/database.ts';

/** `requested`: a handler has the job, and start, settle or rescue will see the request. */
export type CancelAnswer = 'cancelled' | 'requested' | 'finished' | 'not_found';

const CANCEL_JOB = `select millrace.cancel($1::bigint) as answer`;

/** Cancels a job, or asks its handler's next step to. */
export async function cancel(db: Queryable, jobId: string): Promise<CancelAnswer> {
  const { rows } = await db.query<{ answer: CancelAnswer }>(CANCEL_JOB, [jobId]);
  return rows[0]?.answer ?? 'not_found';
}

// A request whose job is not in a handler's hands any more: applied when it waits or is dead, dropped when it is gone.
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

/** Applies open cancel requests of jobs that wait or are dead; answers the ids that were cancelled. */
export async function applyCancelRequests(db: Queryable, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(APPLY_CANCEL_REQUESTS, [limit]);
  return rows.map(({ id }) => id);
}
