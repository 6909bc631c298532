import { arrayText } from '../postgres/array-text.ts';
import type { Database, Queryable } from '../postgres/database.ts';
import { isLockTimeout, isStatementError } from '../postgres/statement-errors.ts';
import type { Begun, StartBatch, StartRequest } from './start-answer.ts';

// The usual case: the job is dispatched under the message's claim and has no cancel request. The statement calls a
// function, because Postgres caches its plan.
const START_CLAIMED_JOBS = `
  select ord, payload, attempt, max_attempts as "maxAttempts", retry_policy as "retryPolicy",
         wait_seconds as "waitSeconds", traceparent
    from millrace.start_jobs($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6, $7, $8, $9, $10)`;

const LOCK_FREE_ROWS = `
  select id from millrace.jobs_live where id = any($1::bigint[]) order by id for update skip locked`;

/** Longest wait for a locked row, in milliseconds. */
const LOCK_MS = 200;

/**
 * Starts the jobs that can start without a further check, and returns them by request. A job that cannot start is
 * unchanged and missing from the result. When one row makes the statement fail, the rows are started one by one.
 */
export async function startClaimed(db: Database, batch: StartBatch): Promise<Map<StartRequest, Begun>> {
  return startAll(db, batch).catch(async (error: unknown) => {
    if (!isStatementError(error)) throw error;
    const begun = new Map<StartRequest, Begun>();
    for (const request of batch.requests) {
      const one = await startAll(db, { ...batch, requests: [request] }).catch((failure: unknown) => {
        if (isStatementError(failure)) return [];
        // Attempts that have started must run despite the error.
        if (begun.size === 0) throw failure;
        return [];
      });
      for (const [, started] of one) begun.set(request, started);
    }
    return begun;
  });
}

/** Skips rows that another transaction keeps locked. Locking all rows first would cost half as much as the start. */
async function startAll(db: Database, batch: StartBatch): Promise<Map<StartRequest, Begun>> {
  try {
    return await startRows(db.limited({ lockMs: LOCK_MS }), batch);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return db.transaction(
      async (tx) => {
        const { rows } = await tx.query<{ id: string }>(LOCK_FREE_ROWS, [batch.requests.map(({ jobId }) => jobId)]);
        const free = new Set(rows.map(({ id }) => id));
        return startRows(tx, { ...batch, requests: batch.requests.filter(({ jobId }) => free.has(jobId)) });
      },
      { keyed: true, lockMs: LOCK_MS },
    );
  }
}

async function startRows(db: Queryable, batch: StartBatch): Promise<Map<StartRequest, Begun>> {
  const { requests } = batch;
  const { rows } = await db.query<Begun & { ord: number }>(START_CLAIMED_JOBS, [
    arrayText(requests.map(({ jobId }) => jobId)),
    arrayText(requests.map(({ claimNo }) => claimNo)),
    arrayText(requests.map(({ messageId }) => messageId)),
    arrayText(requests.map(({ sentAt }) => sentAt)),
    arrayText(requests.map(({ epoch }) => epoch)),
    batch.jobType,
    batch.routingKey,
    batch.requestId,
    batch.suspects,
    batch.leaseSeconds,
  ]);
  return new Map(rows.map((row) => [requests[row.ord - 1] as StartRequest, row]));
}
