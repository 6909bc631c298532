import { claim } from '../../core/jobs/claim.ts';
import { type Engine, insertJobs, markRunning } from '../support/runtime-engine.ts';

/** Creates a job in a status, with the columns that the engine sets. */
export async function jobIn({ pool, db }: Pick<Engine, 'pool' | 'db'>, status: string): Promise<string> {
  const [id] = await insertJobs(pool, 'mail', 1);
  if (status === 'pending') return id!;
  await claim(db, 10);
  if (status === 'dispatched') return id!;
  await markRunning(pool, [id!]);
  if (status === 'failed') {
    await pool.query(
      `update millrace.jobs_live set status = 'failed', next_retry_at = now() + interval '1 hour',
         lease_expires_at = null,
         last_error = 'boom' where id = $1`,
      [id],
    );
  }
  if (status === 'dead_letter') {
    await pool.query(
      `update millrace.jobs_live set status = 'dead_letter', lease_expires_at = null, last_error = 'boom' where id = $1`,
      [id],
    );
    await pool.query(
      `insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, error_stacktrace)
         select id, claim_no, job_type, routing_key, last_error, 'at x' from millrace.jobs_live where id = $1`,
      [id],
    );
  }
  if (status === 'succeeded') {
    await pool.query(
      `with gone as (delete from millrace.jobs_live where id = $1 returning *)
       insert into millrace.jobs_finished (id, slot, job_type, status, attempts, max_attempts, run_at, finished_at)
         select id, 5, job_type, 'succeeded', attempts, max_attempts, run_at, now() from gone`,
      [id],
    );
  }
  return id!;
}
