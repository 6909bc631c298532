import type { Database } from '../database.ts';

const ADOPT_DELIVERY = `
  update millrace.jobs_live j
    set message_id = i.message_id, message_sent_at = to_timestamp(i.sent_ms / 1000.0)
    from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) as i(id, claim_no, message_id, sent_ms)
    where j.id = i.id and j.claim_no = i.claim_no and j.status = 'dead_letter' and j.message_id is null`;

/** Records the delivery that carries a death; only where none is recorded. */
export async function adopt(
  db: Database,
  deliveries: readonly { jobId: string; claimNo: string; messageId: string; sentAt: number }[],
): Promise<void> {
  if (deliveries.length === 0) return;
  await db.query(ADOPT_DELIVERY, [
    deliveries.map(({ jobId }) => jobId),
    deliveries.map(({ claimNo }) => claimNo),
    deliveries.map(({ messageId }) => messageId),
    deliveries.map(({ sentAt }) => sentAt),
  ]);
}
