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

// The statements that look for expired leases read the index of jobs in flight in its own order, from the lowest claim
// of each handler on.
const FIND_EXPIRED_ATTEMPTS = `
  select j.id as "jobId", j.claim_no as "claimNo", s.job_type as "jobType", s.routing_key as "routingKey", j.attempts,
         j.max_attempts as "maxAttempts", j.request_id as "requestId",
         extract(epoch from j.lease_expires_at - j.started_at)::float8 as "leaseSeconds",
         (select h.retry_policy from millrace.handlers h
            where h.job_type = s.job_type and h.routing_key = s.routing_key) as "retryPolicy"
    from (select * from millrace.handler_starts order by job_type, routing_key) s
    cross join lateral (
      select k.id, k.claim_no, k.attempts, k.max_attempts, k.lease_expires_at, k.started_at, k.request_id
        from millrace.jobs_live k
        where k.job_type = s.job_type and k.routing_key = s.routing_key and k.in_flight and k.claim_no >= s.lowest_claim
          and k.status = 'running' and k.lease_expires_at < millrace.clock()
        order by k.claim_no limit $1 for update of k skip locked) j
    limit $1`;

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
           s.claim_no > j.claim_no as counts
      from (select * from millrace.handler_starts order by job_type, routing_key) s
      cross join lateral (
        select k.id, k.claim_no, k.attempts, k.losses from millrace.jobs_live k
          where k.job_type = s.job_type and k.routing_key = s.routing_key and k.in_flight
            and k.claim_no >= s.lowest_claim and k.status = 'dispatched' and k.lease_expires_at < millrace.clock()
          order by k.claim_no limit $1 for update of k skip locked) j
      limit $1
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

// The message of an earlier claim proves that the messages of a job arrive, as a start does: only losses in a row
// count. Under throttling, messages arrive after their leases, and after those of jobs that were dispatched later.
const FORGET_LOSSES = `
  with waiting as materialized (
    select id from millrace.jobs_live
      where id = any($1::bigint[]) and losses > 0 and status in ('pending', 'dispatched')
      order by id for update skip locked
  )
  update millrace.jobs_live set losses = 0 where id = any(array(select id from waiting))`;

/** Forgets the lost messages of jobs of which a late message has arrived. */
export async function forgetLosses(db: Database, jobIds: readonly string[]): Promise<void> {
  if (jobIds.length === 0) return;
  await db.keyed.query(FORGET_LOSSES, [jobIds]);
}

// Later claims of a handler have higher numbers than all that this statement sees, because each draws its number while
// it has a lock on the handler. Without a job in flight, the highest claim that started is such a number.
const RAISE_LOWEST_CLAIMS = `
  with seen as materialized (
    select s.job_type, s.routing_key, coalesce((
        select j.claim_no from millrace.jobs_live j
          where j.job_type = s.job_type and j.routing_key = s.routing_key and j.in_flight
            and j.claim_no >= s.lowest_claim
          order by j.claim_no limit 1), s.claim_no) as lowest
      from millrace.handler_starts s
  ), free as materialized (
    select job_type, routing_key from millrace.handler_starts order by job_type, routing_key for update skip locked
  )
  update millrace.handler_starts s set lowest_claim = n.lowest
    from seen n join free f using (job_type, routing_key)
    where s.job_type = n.job_type and s.routing_key = n.routing_key and s.lowest_claim < n.lowest`;

/** Stores the lowest claim in flight of each handler, from which the searches for jobs in flight begin. */
export async function raiseLowestClaims(db: Database): Promise<void> {
  await db.keyed.query(RAISE_LOWEST_CLAIMS);
}
