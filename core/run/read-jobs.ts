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

const FIND_SUSPECTS = `
  select j.id from millrace.jobs_live j
    join unnest($1::bigint[], $2::bigint[]) as i(id, claim_no) on i.id = j.id and i.claim_no = j.claim_no
    where j.status = 'dispatched' and j.suspect
    order by j.id`;

/** Returns the ids of the claimed jobs whose last attempt may have ended its process. */
export async function findSuspects(
  db: Database,
  claims: readonly { jobId: string; claimNo: string }[],
): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(FIND_SUSPECTS, [
    claims.map(({ jobId }) => jobId),
    claims.map(({ claimNo }) => claimNo),
  ]);
  return new Set(rows.map(({ id }) => id));
}
