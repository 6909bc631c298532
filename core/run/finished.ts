import type { LiveRow } from '../jobs/start-answer.ts';
import type { Database } from '../postgres/database.ts';

const READ_FINISHED = `
  select f.id, f.status, f.claim_no as "claimNo", f.job_type as "jobType", f.routing_key as "routingKey",
         f.message_id as "messageId", f.request_id as "requestId",
         (extract(epoch from f.message_sent_at) * 1000)::float8 as "sentAt"
    from millrace.jobs_finished f where f.id = any($1::bigint[])`;

/** Returns finished jobs by id. Probes the partition of every day, so call it only for jobs without a live row. */
export async function readFinished(db: Database, jobIds: readonly string[]): Promise<Map<string, LiveRow>> {
  if (jobIds.length === 0) return new Map();
  const { rows } = await db.query<LiveRow & { id: string }>(READ_FINISHED, [jobIds]);
  return new Map(rows.map((row) => [row.id, row]));
}
