import type { Database } from '../database.ts';
import type { Settled, Settlement } from './settle.ts';

// What nearly every batch is: all succeeded. Half of the other statement's cost, most of it planning. One probe of the
// primary key a job, whatever the statistics say. Whoever holds a request to cancel is not waited for long.
const SETTLE_SUCCESSES = `
  with locked as materialized (
    select j.id, i.result
      from (select i.* from (select set_config('lock_timeout', '200ms', true)) as patience,
                unnest($1::bigint[], $2::bigint[], $3::text[]) as i(id, claim_no, result) order by i.id) i
      cross join lateral (
        select k.id from millrace.jobs_live k
          where k.id = i.id and k.claim_no = i.claim_no and k.status = 'running' and k.request_id = $4
          for update skip locked
      ) j
  ), finished as (
    delete from millrace.jobs_live j using locked l where j.id = l.id
      returning j.id, j.job_type, j.routing_key, j.payload, j.priority, j.attempts, j.max_attempts, j.run_at,
        j.claim_no, j.message_id, j.message_sent_at, j.request_id, j.dispatched_at, j.started_at, j.created_at,
        j.unique_key, j.group_key, l.result, j.progress, j.traceparent
  ), kept as (
    insert into millrace.jobs_finished (id, slot, job_type, routing_key, payload, status, priority, attempts,
        max_attempts, run_at, claim_no, message_id, message_sent_at, request_id, dispatched_at, started_at, finished_at,
        created_at, updated_at, unique_key, group_key, result, progress, traceparent)
      select id, (select millrace.slot_of(millrace.clock())), job_type, routing_key, payload, 'succeeded', priority,
        attempts, max_attempts, run_at, claim_no, message_id, message_sent_at, request_id, dispatched_at, started_at,
        millrace.clock(), created_at, millrace.clock(), unique_key, group_key, result::jsonb, progress, traceparent
        from finished
  ), answered as (
    delete from millrace.cancel_requests c using finished f where c.job_id = f.id
  ), counted as (
    insert into millrace.job_events (event, job_type, status, count)
      select 'succeeded', f.job_type, 'succeeded', count(*) from finished f group by f.job_type
  )
  select id as "jobId", 'succeeded' as status from finished`;

/** Ends attempts of one Lambda request that have all succeeded; answers those that were ours to end. */
export async function settleSuccesses(
  db: Database,
  settlements: readonly Settlement[],
  requestId: string,
): Promise<Settled[]> {
  const { rows } = await db.query<Settled>(SETTLE_SUCCESSES, [
    settlements.map(({ jobId }) => jobId),
    settlements.map(({ claimNo }) => claimNo),
    settlements.map(({ ending }) => (ending.kind === 'succeeded' ? ending.result : null)),
    requestId,
  ]);
  return rows;
}
