import { type Database, isStatementError } from '../database.ts';
import type { JobStatus } from '../job.ts';
import type { HandlerAddress } from '../naming.ts';
import type { RetryPolicy } from '../retry-policy.ts';

/** One message that asks for its job to be started. */
export interface StartRequest {
  readonly epoch: string;
  readonly jobId: string;
  readonly claimNo: string;
  readonly messageId: string;
  /** SQS SentTimestamp, milliseconds. */
  readonly sentAt: number;
}

/** What the database knows of the job that a message names, after start has done what it could. */
export interface StartAnswer {
  /** `started`: run it. `suspect`: could be started, alone. `cancelled`: it was, by request. Else see `row`. */
  readonly verdict: 'started' | 'suspect' | 'cancelled' | 'busy' | 'none';
  /** How the row stood before; null when no such live job exists. */
  readonly row: LiveRow | null;
  /** The job's id was issued once by this database. */
  readonly issued: boolean;
  /** The message carries this database's epoch; else it is of another life or another database. */
  readonly native: boolean;
  /** Only when started: the payload as JSON text, so that no digit is lost before it is checked. */
  readonly payload: string | null;
  readonly attempt: number;
  readonly maxAttempts: number;
}

/** The columns by which a message is judged. */
export interface LiveRow extends HandlerAddress {
  readonly status: JobStatus;
  readonly claimNo: string | null;
  readonly messageId: string | null;
  /** Milliseconds, as `StartRequest.sentAt`. */
  readonly sentAt: number | null;
  readonly requestId: string | null;
}

export interface StartBatch extends HandlerAddress {
  readonly requestId: string;
  readonly requests: readonly StartRequest[];
  /** Also start jobs whose last attempt ended by rescue. */
  readonly suspects: boolean;
  /** Start nothing, only tell how the jobs stand. */
  readonly lookOnly?: boolean;
}

// One statement for the batch. Rows that somebody holds are skipped, never waited for. The answer shows the row as it
// stood before, so that the table of verdicts can be applied to what was not started.
const START_JOBS = `
  with input as materialized (
    select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $9::text[])
      with ordinality as i(job_id, claim_no, message_id, sent_ms, epoch, ord)
  ), locked as materialized (
    select j.id, i.ord, i.message_id, i.sent_ms, c.job_id is not null as cancelling
      from millrace.jobs_live j
      join input i on i.job_id = j.id and i.claim_no = j.claim_no
      join millrace.installation n on n.epoch = i.epoch
      left join millrace.cancel_requests c on c.job_id = j.id
      where j.status = 'dispatched' and j.job_type = $5 and j.routing_key = $6 and (not j.suspect or $8) and not $10
      order by j.id
      for update of j skip locked
  ), started as (
    update millrace.jobs_live j
      set status = 'running', attempts = least(j.attempts, 2147483646) + 1,
          started_at = millrace.clock(), updated_at = millrace.clock(),
          lease_expires_at = millrace.clock() + make_interval(secs => h.running_lease_seconds),
          message_id = l.message_id, message_sent_at = to_timestamp(l.sent_ms / 1000.0), request_id = $7
      from locked l, millrace.handlers h
      where j.id = l.id and not l.cancelling and h.job_type = $5 and h.routing_key = $6
      returning j.id, l.ord, j.payload, j.attempts, j.max_attempts, j.claim_no
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
                        where t.job_type = $5 and t.routing_key = $6 for update skip locked)
  )
  select i.ord::integer as ord, j.status, j.claim_no as "claimNo", j.job_type as "jobType",
         j.routing_key as "routingKey", j.message_id as "messageId", j.request_id as "requestId", j.suspect,
         (extract(epoch from j.message_sent_at) * 1000)::bigint as "sentAt",
         s.id is not null as started, x.id is not null as cancelled,
         -- The answer to an earlier start of this very request was lost: the same start, answered again.
         case when s.id is not null then s.payload::text
              when j.status = 'running' and j.request_id = $7 and j.claim_no = i.claim_no
                and j.message_id = i.message_id then j.payload::text end as payload,
         coalesce(s.attempts, j.attempts, 0) as attempt, coalesce(s.max_attempts, j.max_attempts, 0) as "maxAttempts",
         i.job_id <= q.last_value as issued, i.epoch = n.epoch as native,
         case when i.ord = 1 then (select h.retry_policy from millrace.handlers h
                                     where h.job_type = $5 and h.routing_key = $6) end as "retryPolicy"
    from input i
    cross join millrace.job_ids q
    cross join millrace.installation n
    left join millrace.jobs_live j on j.id = i.job_id
    left join started s on s.ord = i.ord
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

export interface Started {
  /** One a request, in order. */
  readonly answers: readonly StartAnswer[];
  /** The policy as the registry has it; undefined when the handler is not registered. */
  readonly retryPolicy: RetryPolicy | undefined;
}

/**
 * Begins an attempt for every message whose claim is the row's; counts it. Answers one verdict a request, in order.
 * Requests must name each (job, claim) of one epoch once. When one row makes the statement fail, row by row; a row
 * that cannot be started is answered as `busy`.
 */
export async function start(db: Database, batch: StartBatch): Promise<Started> {
  const { requests } = batch;
  if (requests.length === 0) return { answers: [], retryPolicy: undefined };
  const rows = await startAll(db, batch).catch((error: unknown) => {
    if (!isStatementError(error)) throw error;
    return startOneByOne(db, batch);
  });
  const answers = rows.map((row, index) => toAnswer(row, requests[index]?.claimNo, batch));
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
