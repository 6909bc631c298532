import type { RetryPolicy } from '../handler/retry-policy.ts';
import type { Database } from '../postgres/database.ts';

/** A running job whose process is lost, and the columns that determine its next attempt. */
export interface LostAttempt {
  readonly jobId: string;
  readonly claimNo: string;
  readonly jobType: string;
  readonly routingKey: string;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly leaseSeconds: number;
  /** Id of the Lambda request that started the attempt. */
  readonly requestId: string | null;
  /** Null if the handler is no longer registered. */
  readonly retryPolicy: RetryPolicy | null;
}

// All statements of this file read the index of jobs in flight, in its own order.
const FIND_EXPIRED_ATTEMPTS = `
  select j.id as "jobId", j.claim_no as "claimNo", j.job_type as "jobType",
         j.routing_key as "routingKey", j.attempts, j.max_attempts as "maxAttempts",
         extract(epoch from j.lease_expires_at - j.started_at)::float8 as "leaseSeconds",
         j.request_id as "requestId",
         h.retry_policy as "retryPolicy"
    from millrace.jobs_live j
    left join millrace.handlers h using (job_type, routing_key)
    where j.in_flight and j.status = 'running' and j.lease_expires_at < millrace.clock()
    order by j.job_type, j.routing_key, j.claim_no limit $1
    for update of j skip locked`;

/**
 * Returns running jobs with an expired lease, without those whose rows other transactions have locked: a thousand of
 * them would keep all others from their rescue. Changes nothing: settle checks the lease again under the row's lock.
 */
export async function findExpiredAttempts(db: Database, limit: number): Promise<LostAttempt[]> {
  const { rows } = await db.keyed.query<LostAttempt>(FIND_EXPIRED_ATTEMPTS, [limit]);
  return rows;
}

const FIND_ATTEMPTS_OF_REQUEST = `
  select j.id as "jobId", j.claim_no as "claimNo", j.job_type as "jobType",
         j.routing_key as "routingKey", j.attempts, j.max_attempts as "maxAttempts",
         extract(epoch from j.lease_expires_at - j.started_at)::float8 as "leaseSeconds",
         j.request_id as "requestId",
         h.retry_policy as "retryPolicy"
    from millrace.handlers h
    join millrace.jobs_live j using (job_type, routing_key)
    where h.function_name = $1 and j.in_flight and j.status = 'running' and j.request_id = $2
    order by j.job_type, j.routing_key, j.claim_no`;

/** Returns the jobs that this request of a function runs. Changes nothing: settle checks the request again. */
export async function findAttemptsOfRequest(
  db: Database,
  { functionName, requestId }: { readonly functionName: string; readonly requestId: string },
): Promise<LostAttempt[]> {
  const { rows } = await db.keyed.query<LostAttempt>(FIND_ATTEMPTS_OF_REQUEST, [functionName, requestId]);
  return rows;
}

/** A running job, and the fraction that its handler last reported. */
export interface RunningJob {
  readonly jobId: string;
  readonly jobType: string;
  readonly routingKey: string;
  readonly fraction: number | null;
}

const READ_JOBS_OF_REQUESTS = `
  select j.id as "jobId", j.job_type as "jobType", j.routing_key as "routingKey",
         (j.progress->>'fraction')::float8 as fraction
    from millrace.jobs_live j
    where j.in_flight and j.status = 'running' and j.request_id = any($1::text[])
    order by j.job_type, j.routing_key, j.claim_no, j.id limit $2`;

/** Returns up to `limit` jobs that these Lambda requests run. */
export async function readJobsOfRequests(
  db: Pick<Database, 'keyed'>,
  requestIds: readonly string[],
  limit: number,
): Promise<RunningJob[]> {
  const { rows } = await db.keyed.query<RunningJob>(READ_JOBS_OF_REQUESTS, [requestIds, limit]);
  return rows;
}

/**
 * A job becomes a dead letter after this number of lost messages, counted only while messages of later jobs arrived.
 */
const MOST_LOSSES = 10;

// A lost message costs no attempt. It counts as a loss only when a job dispatched later has started: a disabled
// mapping or a long queue delays all jobs, which says nothing about this one.
const RELEASE_EXPIRED_DISPATCHED = `
  with expired as materialized (
    select j.id, j.claim_no, j.attempts, j.losses + case when s.claim_no > j.claim_no then 1 else 0 end as losses,
           coalesce(s.claim_no > j.claim_no, false) as counts
      from millrace.jobs_live j
      left join millrace.handler_starts s using (job_type, routing_key)
      where j.in_flight and j.status = 'dispatched' and j.lease_expires_at < millrace.clock()
      order by j.job_type, j.routing_key, j.claim_no limit $1
      for update of j skip locked
  ), released as (
    update millrace.jobs_live j
      set status = 'pending', losses = e.losses, lease_expires_at = null, updated_at = millrace.clock()
      from expired e where j.id = e.id and e.losses < $2
      returning j.id
  ), recorded as (
    insert into millrace.job_attempts (job_id, claim_no, attempt, outcome, error_name, error_message)
      select e.id, e.claim_no, e.attempts, 'lost', 'MessageLost', 'its message reached no handler within its lease'
        from expired e where e.counts and e.losses < $2
        on conflict do nothing
  ), dead as (
    select millrace.die(array_agg(e.id), array_agg('MessageLost'::text), array_agg($3::text), lost => true) as id
      from expired e where e.losses >= $2 having count(*) > 0
  )
  select id from released union all select id from dead`;

/** Releases dispatched jobs whose message did not arrive within the lease, and returns how many. */
export async function releaseExpiredDispatched(db: Database, limit: number): Promise<number> {
  const reason = `its message was lost ${MOST_LOSSES} times: check its queue and the event source mapping of its handler`;
  const { rowCount } = await db.keyed.query(RELEASE_EXPIRED_DISPATCHED, [limit, MOST_LOSSES, reason]);
  return rowCount;
}
