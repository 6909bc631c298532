import { type Database, isStatementError } from '../postgres/database.ts';
import type { Begun, StartBatch, StartRequest } from './start-answer.ts';

// What nearly every message is: its job is dispatched under its claim and nobody wants it cancelled. A function, whose
// plan is kept.
const START_CLAIMED_JOBS = `
  select ord, payload, attempt, max_attempts as "maxAttempts", retry_policy as "retryPolicy",
         wait_seconds as "waitSeconds", traceparent
    from millrace.start_jobs($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6, $7, $8, $9)`;

/**
 * Begins what can begin without further questions; by request. Whatever stands in the way of one, it is not in the
 * answer and unchanged: when one row makes the statement fail, it is made row by row.
 */
export async function startClaimed(db: Database, batch: StartBatch): Promise<Map<StartRequest, Begun>> {
  return startAll(db, batch).catch(async (error: unknown) => {
    if (!isStatementError(error)) throw error;
    const begun = new Map<StartRequest, Begun>();
    for (const request of batch.requests) {
      const one = await startAll(db, { ...batch, requests: [request] }).catch((failure: unknown) => {
        if (isStatementError(failure)) return [];
        // What has begun must run all the same.
        if (begun.size === 0) throw failure;
        return [];
      });
      for (const [, started] of one) begun.set(request, started);
    }
    return begun;
  });
}

async function startAll(db: Database, batch: StartBatch): Promise<Map<StartRequest, Begun>> {
  const { requests } = batch;
  const { rows } = await db.query<Begun & { ord: number }>(START_CLAIMED_JOBS, [
    requests.map(({ jobId }) => jobId),
    requests.map(({ claimNo }) => claimNo),
    requests.map(({ messageId }) => messageId),
    requests.map(({ sentAt }) => sentAt),
    requests.map(({ epoch }) => epoch),
    batch.jobType,
    batch.routingKey,
    batch.requestId,
    batch.suspects,
  ]);
  return new Map(rows.map((row) => [requests[row.ord - 1] as StartRequest, row]));
}
