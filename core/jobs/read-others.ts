import type { RetryPolicy } from '../handler/retry-policy.ts';
import type { Database } from '../postgres/database.ts';
import { isStatementError } from '../postgres/statement-errors.ts';
import type { Begun, LiveRow, StartAnswer, StartBatch, StartRequest } from './start-answer.ts';

// Starts nothing, but ends jobs that have a cancel request or are too late to start. Locked rows are skipped, so the
// statement never waits.
// It returns each row as it was before, which the decision table requires.
const READ_OTHERS = `
  with input as materialized (
    select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[])
      with ordinality as i(job_id, claim_no, message_id, epoch, ord)
  ), here as materialized (
    select n.epoch, q.last_value from millrace.installation n, millrace.job_ids q limit 1
  ), cancelling as materialized (
    select j.id from millrace.jobs_live j
      join input i on i.job_id = j.id and i.claim_no = j.claim_no
      join here using (epoch)
      join millrace.cancel_requests c on c.job_id = j.id
      where j.status = 'dispatched' and j.job_type = $5 and j.routing_key = $6 and not $8
      order by j.id for update of j skip locked
  ), cancelled as (
    select millrace.finish_cancelled(array_agg(l.id), 'cancelled on request') as id from cancelling l
      having count(*) > 0
  ), late as materialized (
    select j.id from millrace.jobs_live j
      join input i on i.job_id = j.id and i.claim_no = j.claim_no
      join here using (epoch)
      where j.status = 'dispatched' and j.job_type = $5 and j.routing_key = $6 and not $8
        -- "is true" keeps the planner from reading every late job of the table by its index.
        and (j.start_by < millrace.clock()) is true and j.attempts = 0 and j.id not in (select id from cancelling)
      order by j.id for update of j skip locked
  ), skipped as (
    select millrace.finish_late(array_agg(l.id)) as id from late l having count(*) > 0
  )
  select j.status, j.claim_no as "claimNo", j.job_type as "jobType", j.routing_key as "routingKey",
         j.message_id as "messageId", j.request_id as "requestId", j.suspect, j.losses,
         left(j.traceparent, 55) as traceparent,
         (extract(epoch from j.message_sent_at) * 1000)::bigint as "sentAt", x.id is not null as cancelled,
         s.id is not null as late,
         a.again, case when a.again then millrace.payload_text(j.payload) end as payload,
         coalesce(j.attempts, 0) as attempt, coalesce(j.max_attempts, 0) as "maxAttempts",
         i.job_id <= here.last_value as issued, i.epoch = here.epoch as native,
         case when i.ord = 1 then (select h.retry_policy from millrace.handlers h
                                     where h.job_type = $5 and h.routing_key = $6) end as "retryPolicy"
    from input i
    cross join here
    left join lateral (select * from millrace.jobs_live k where k.id = i.job_id limit 1) j on true
    -- The response to an earlier start of this request was lost: returns the same start again.
    cross join lateral (select coalesce(j.status = 'running' and j.request_id = $7 and j.claim_no = i.claim_no
                                 and j.message_id = i.message_id, false) as again) a
    left join cancelled x on x.id = i.job_id
    left join skipped s on s.id = i.job_id
    order by i.ord`;

interface OtherJob extends LiveRow {
  suspect: boolean | null;
  traceparent: string | null;
  cancelled: boolean;
  late: boolean;
  again: boolean;
  payload: string | null;
  attempt: number;
  maxAttempts: number;
  issued: boolean;
  native: boolean;
  retryPolicy: RetryPolicy | null;
}

/** Returns answers for the requests that started no attempt, from the rows of their jobs. */
export async function readOthers(db: Database, batch: StartBatch, begun: ReadonlyMap<StartRequest, Begun>) {
  const requests = batch.requests.filter((request) => !begun.has(request));
  const answers = new Map<StartRequest, StartAnswer>();
  if (requests.length === 0) return { answers, retryPolicy: undefined };
  const rest = { ...batch, requests };
  const rows = await readRows(db, rest).catch((error: unknown) => {
    // A row that cannot be cancelled must not prevent the reading of the others.
    if (isStatementError(error)) return readRows(db, { ...rest, lookOnly: true });
    // Attempts that have started must run despite the error.
    if (begun.size === 0) throw error;
    return [];
  });
  rows.forEach((row, index) => {
    const request = requests[index] as StartRequest;
    answers.set(request, toAnswer(row, request.claimNo, batch));
  });
  return { answers, retryPolicy: rows[0]?.retryPolicy ?? undefined };
}

async function readRows(db: Database, batch: StartBatch): Promise<OtherJob[]> {
  const { requests } = batch;
  const { rows } = await db.query<OtherJob>(READ_OTHERS, [
    requests.map(({ jobId }) => jobId),
    requests.map(({ claimNo }) => claimNo),
    requests.map(({ messageId }) => messageId),
    requests.map(({ epoch }) => epoch),
    batch.jobType,
    batch.routingKey,
    batch.requestId,
    batch.lookOnly ?? false,
  ]);
  return rows;
}

function toAnswer(row: OtherJob, claimNo: string | undefined, batch: StartBatch): StartAnswer {
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
    waitSeconds: null,
    traceparent: row.traceparent,
  };
}

function verdictOf(row: OtherJob, startable: boolean, suspects: boolean): StartAnswer['verdict'] {
  if (row.again) return 'started';
  if (row.cancelled) return 'cancelled';
  if (row.late) return 'late';
  if (!startable) return 'none';
  return row.suspect && !suspects ? 'suspect' : 'busy';
}
