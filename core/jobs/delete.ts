import type { Queryable } from '../postgres/database.ts';

export type DeleteAnswer =
  /** The job and its attempts are deleted. */
  | 'deleted'
  /** The job is dispatched or running, and was not deleted. */
  | 'in_flight'
  /** Another transaction is changing the job; the caller may retry. */
  | 'busy'
  /** No job has this id. */
  | 'not_found';

// A job settled after this statement began is in neither partition of its snapshot; the next call finds the job. An
// unfinished job gives its key back, as a cancelled one does: no other job would be inserted, and none would run.
const DELETE_JOB = `
  with waiting as materialized (
    select id from millrace.jobs_live
      where id = $1::bigint and status in ('pending', 'failed', 'dead_letter') for update skip locked
  ), gone as (
    delete from millrace.jobs_live j using waiting w where j.id = w.id
      returning j.id, j.job_type, j.routing_key, j.unique_key, j.status
  ), freed as (
    -- Other keys end with their job. No other transaction locks the row of a key that is still held.
    delete from millrace.unique_keys k using gone g
      where k.job_type = g.job_type and k.routing_key = g.routing_key and k.unique_key = g.unique_key
        and k.job_id = g.id and k.until = 'period' and k.ends_at > millrace.clock()
  ), gone_finished as (
    delete from millrace.jobs_finished where id = $1::bigint returning id, job_type, status
  ), deleted as (
    select id, job_type, status from gone union all select * from gone_finished
  ), forgotten as (
    delete from millrace.job_attempts a using deleted d where a.job_id = d.id
  ), asked as (
    delete from millrace.cancel_requests c using deleted d where c.job_id = d.id
  ), resolved as (
    update millrace.dead_letters l
      set status = 'discarded', resolved_at = millrace.clock(), resolved_by = millrace.actor(),
          resolution = 'its job was deleted'
      from deleted d where l.job_id = d.id and l.status = 'open'
  ), audited as (
    insert into millrace.audit_log (action, job_id, details)
      select 'delete', d.id, jsonb_build_object('job_type', d.job_type, 'status', d.status) from deleted d
  )
  select case
      when exists (select from deleted) then 'deleted'
      when (select l.status from millrace.jobs_live l where l.id = $1::bigint) in ('dispatched', 'running')
        then 'in_flight'
      when exists (select from millrace.jobs_live l where l.id = $1::bigint) then 'busy'
      else 'not_found' end as answer`;

/** Deletes a job that waits, is dead or is finished, with its attempts, and writes an audit event. */
export async function deleteJob(db: Queryable, jobId: string): Promise<DeleteAnswer> {
  const { rows } = await db.query<{ answer: DeleteAnswer }>(DELETE_JOB, [jobId]);
  return rows[0]?.answer ?? 'not_found';
}
