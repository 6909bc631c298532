import type { Queryable } from '../database.ts';
import type { HandlerAddress } from '../naming.ts';

const PAUSE_HANDLER = `
  with changed as (
    update millrace.handlers set paused_at = millrace.clock()
      where job_type = $1 and routing_key = $2 and paused_at is null
      returning job_type, routing_key
  )
  insert into millrace.audit_log (action, details)
    select 'pause', jsonb_build_object('job_type', job_type, 'routing_key', routing_key) from changed`;

/** Claims nothing for it any more; what is in flight finishes. Pausing it again changes nothing. */
export async function pauseHandler(db: Queryable, { jobType, routingKey }: HandlerAddress): Promise<void> {
  await db.query(PAUSE_HANDLER, [jobType, routingKey]);
}

const RESUME_HANDLER = `
  with changed as (
    update millrace.handlers set paused_at = null
      where job_type = $1 and routing_key = $2 and paused_at is not null
      returning job_type, routing_key
  )
  insert into millrace.audit_log (action, details)
    select 'resume', jsonb_build_object('job_type', job_type, 'routing_key', routing_key) from changed`;

/** Claims for it again, from the next round on. */
export async function resumeHandler(db: Queryable, { jobType, routingKey }: HandlerAddress): Promise<void> {
  await db.query(RESUME_HANDLER, [jobType, routingKey]);
}
