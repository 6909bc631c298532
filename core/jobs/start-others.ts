import { type Database, isStatementError } from '../database.ts';
import type { RetryPolicy } from '../retry-policy.ts';
import type { LiveRow, StartAnswer, StartBatch, StartRequest } from './start.ts';
import type { Begun } from './start-claimed.ts';

// One statement for the batch. Rows that somebody holds are skipped, never waited for. The answer shows the row as it
// stood before, so that the table of verdicts can be applied to what was not started.
const START_JOBS = `
  with input as materialized (
    select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $9::text[])
      with ordinality as i(job_id, claim_no, message_id, sent_ms, epoch, ord)
  ), here as materialized (
    select n.epoch, q.last_value from millrace.installation n, millrace.job_ids q limit 1
  ), locked as materialized (
    -- One probe of the primary key a message, whatever the statistics say: while they know of no dispatched job, a join
    -- is planned as a scan of the table for each message.
    select j.id, i.ord, i.message_id, i.sent_ms,
           exists (select from millrace.cancel_requests c where c.job_id = j.id) as cancelling
      from (select * from input join here using (epoch) where not $10 order by job_id) i
      cross join lateral (
        select k.id from millrace.jobs_live k
          where k.id = i.job_id and k.claim_no = i.claim_no and k.status = 'dispatched' and k.job_type = $5
            and k.routing_key = $6 and (not k.suspect or $8)
          for update skip locked
      ) j
  ), started as (
    update millrace.jobs_live j
      set status = 'running', attempts = least(j.attempts, 2147483646) + 1, started_at = millrace.clock(),
          updated_at = millrace.clock(),
          lease_expires_at = millrace.clock() + make_interval(secs => h.running_lease_seconds),
          message_id = l.message_id, message_sent_at = timestamptz 'epoch' + l.sent_ms * interval '1 millisecond',
          request_id = $7
      from locked l, millrace.handlers h
      where j.id = l.id and not l.cancelling and h.job_type = $5 and h.routing_key = $6
      returning l.ord, j.payload, j.attempts, j.max_attempts, j.claim_no
  ), cancelled as (
    select millrace.finish_cancelled(array_agg(l.id), 'cancelled on request') as id from locked l
      where l.cancelling having count(*) > 0
  ), noted as (
    select max(claim_no) as claim_no from started
  ), seen as (
    -- Only when it rises, and only if nobody else is writing it: it serves to tell a lost message from a slow queue.
    update millrace.handler_starts s set claim_no = noted.claim_no
      from noted
      where s.job_type = $5 and s.routing_key = $6 and s.claim_no < noted.claim_no
        and s.ctid = (select t.ctid from millrace.handler_starts t
                        where t.job_type = $5 and t.routing_key = $6 and t.claim_no < (select claim_no from noted)
                        for update skip locked)
  )
  select i.ord::integer as ord, j.status, j.claim_no as "claimNo", j.job_type as "jobType",
         j.routing_key as "routingKey", j.message_id as "messageId", j.request_id as "requestId", j.suspect,
         (extract(epoch from j.message_sent_at) * 1000)::bigint as "sentAt",
         s.ord is not null as started, x.id is not null as cancelled,
         -- The answer to an earlier start of this very request was lost: the same start, answered again.
         case when s.ord is not null then s.payload::text
              when j.status = 'running' and j.request_id = $7 and j.claim_no = i.claim_no
                and j.message_id = i.message_id then j.payload::text end as payload,
         coalesce(s.attempts, j.attempts, 0) as attempt, coalesce(s.max_attempts, j.max_attempts, 0) as "maxAttempts",
         i.job_id <= here.last_value as issued, i.epoch = here.epoch as native,
         case when i.ord = 1 then (select h.retry_policy from millrace.handlers h
                                     where h.job_type = $5 and h.routing_key = $6) end as "retryPolicy"
    from input i
    cross join here
    left join started s on s.ord = i.ord
    left join lateral (select * from millrace.jobs_live k where k.id = i.job_id limit 1) j on true
    left join cancelled x on x.id = i.job_id
    order by i.ord`;

interface StartRow extends LiveRow {
  suspect: boolean | null;
  started: boolean;
  cancelled: boolean;
  payload: string | null;
  attempt: number;
  maxAttempts: number;
  issued: boolean;
  native: boolean;
  retryPolicy: RetryPolicy | null;
}

/** Answers the requests that have not begun: starts what can start after all, and tells how the rest stands. */
export async function startOthers(db: Database, batch: StartBatch, begun: ReadonlyMap<StartRequest, Begun>) {
  const requests = batch.requests.filter((request) => !begun.has(request));
  const answers = new Map<StartRequest, StartAnswer>();
  if (requests.length === 0) return { answers, retryPolicy: undefined };
  const rest = { ...batch, requests };
  const rows = await startAll(db, rest).catch((error: unknown) => {
    if (isStatementError(error)) return startOneByOne(db, rest);
    // What has begun must run all the same.
    if (begun.size === 0) throw error;
    return [];
  });
  rows.forEach((row, index) => {
    const request = requests[index] as StartRequest;
    answers.set(request, toAnswer(row, request.claimNo, batch));
  });
  return { answers, retryPolicy: rows[0]?.retryPolicy ?? undefined };
}

async function startAll(db: Database, batch: StartBatch): Promise<StartRow[]> {
  const { requests } = batch;
  const { rows } = await db.query<StartRow>(START_JOBS, [
    requests.map(({ jobId }) => jobId),
    requests.map(({ claimNo }) => claimNo),
    requests.map(({ messageId }) => messageId),
    requests.map(({ sentAt }) => sentAt),
    batch.jobType,
    batch.routingKey,
    batch.requestId,
    batch.suspects,
    requests.map(({ epoch }) => epoch),
    batch.lookOnly ?? false,
  ]);
  return rows;
}

async function startOneByOne(db: Database, batch: StartBatch): Promise<StartRow[]> {
  const rows: StartRow[] = [];
  for (const request of batch.requests) {
    const one = { ...batch, requests: [request] };
    const started = await startAll(db, one).catch((error: unknown) => {
      if (!isStatementError(error)) throw error;
      return startAll(db, { ...one, lookOnly: true });
    });
    rows.push(...started);
  }
  return rows;
}

function toAnswer(row: StartRow, claimNo: string | undefined, batch: StartBatch): StartAnswer {
  const startable =
    row.native &&
    row.status === 'dispatched' &&
    row.claimNo === claimNo &&
    row.jobType === batch.jobType &&
    row.routingKey === batch.routingKey;
  return {
    verdict: verdictOf(row, startable, batch.suspects),
    row: row.status === null ? null : { ...row, sentAt: row.sentAt === null ? null : Number(row.sentAt) },
    issued: row.issued,
    native: row.native,
    payload: row.payload,
    attempt: row.attempt,
    maxAttempts: row.maxAttempts,
  };
}

function verdictOf(row: StartRow, startable: boolean, suspects: boolean): StartAnswer['verdict'] {
  if (row.started || row.payload !== null) return 'started';
  if (row.cancelled) return 'cancelled';
  if (!startable) return 'none';
  return row.suspect && !suspects ? 'suspect' : 'busy';
}
