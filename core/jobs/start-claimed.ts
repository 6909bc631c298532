import { type Database, isStatementError } from '../database.ts';
import type { RetryPolicy } from '../retry-policy.ts';
import type { StartBatch, StartRequest } from './start.ts';

/** An attempt that has begun. */
export interface Begun {
  /** The payload as JSON text. */
  readonly payload: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly retryPolicy: RetryPolicy;
}

// What nearly every message is: its job is dispatched under its claim and nobody wants it cancelled. One probe of the
// primary key a message, whatever the statistics say: while they know of no dispatched job, a join is planned as a scan
// of the table for each message.
const START_CLAIMED_JOBS = `
  with locked as materialized (
    select j.id, i.ord, i.message_id, i.sent_ms
      from (select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[])
              with ordinality as i(job_id, claim_no, message_id, sent_ms, epoch, ord)
              where i.epoch = (select epoch from millrace.installation)
                and not exists (select from millrace.cancel_requests c where c.job_id = i.job_id)
              order by job_id) i
      cross join lateral (
        select k.id from millrace.jobs_live k
          where k.id = i.job_id and k.claim_no = i.claim_no and k.status = 'dispatched' and k.job_type = $6
            and k.routing_key = $7 and (not k.suspect or $9)
          for update skip locked
      ) j
  ), started as (
    update millrace.jobs_live j
      set status = 'running', attempts = least(j.attempts, 2147483646) + 1, started_at = millrace.clock(),
          updated_at = millrace.clock(),
          lease_expires_at = millrace.clock() + make_interval(secs => h.running_lease_seconds),
          message_id = l.message_id, message_sent_at = timestamptz 'epoch' + l.sent_ms * interval '1 millisecond',
          request_id = $8
      from locked l, millrace.handlers h
      where j.id = l.id and h.job_type = $6 and h.routing_key = $7
      returning l.ord, j.payload, j.attempts, j.max_attempts, j.claim_no, h.retry_policy
  ), seen as (
    -- Only when it rises, and only if nobody else is writing it: it serves to tell a lost message from a slow queue.
    update millrace.handler_starts s set claim_no = (select max(claim_no) from started)
      where s.ctid = (select t.ctid from millrace.handler_starts t
                        where t.job_type = $6 and t.routing_key = $7
                          and t.claim_no < (select max(claim_no) from started)
                        for update skip locked)
  )
  select ord::integer as ord, payload::text as payload, attempts as attempt, max_attempts as "maxAttempts",
         retry_policy as "retryPolicy"
    from started`;

/**
 * Begins what can begin without further questions; by request. Whatever stands in the way of one, it is not in the
 * answer and unchanged.
 */
export async function startClaimed(db: Database, batch: StartBatch): Promise<Map<StartRequest, Begun>> {
  const { requests } = batch;
  const values = [
    requests.map(({ jobId }) => jobId),
    requests.map(({ claimNo }) => claimNo),
    requests.map(({ messageId }) => messageId),
    requests.map(({ sentAt }) => sentAt),
    requests.map(({ epoch }) => epoch),
    batch.jobType,
    batch.routingKey,
    batch.requestId,
    batch.suspects,
  ];
  const { rows } = await db.query<Begun & { ord: number }>(START_CLAIMED_JOBS, values).catch((error: unknown) => {
    if (!isStatementError(error)) throw error;
    return { rows: [] };
  });
  return new Map(rows.map((row) => [requests[row.ord - 1] as StartRequest, row]));
}
