import type { Database } from '../postgres/database.ts';

// The statement skips a locked row instead of waiting: SQS delivers the message again after its bounce.
const ADOPT_DELIVERY = `
  with locked as materialized (
    select j.id, i.message_id, i.sent_ms
      from millrace.jobs_live j
      join unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) as i(id, claim_no, message_id, sent_ms)
        on i.id = j.id and i.claim_no = j.claim_no
      where j.status = 'dead_letter' and j.message_id is null
      order by j.id
      for update of j skip locked
  )
  update millrace.jobs_live j
    set message_id = l.message_id, message_sent_at = to_timestamp(l.sent_ms / 1000.0)
    from locked l where j.id = l.id`;

/** Records the delivery that carries a dead job to the dead-letter queue, unless one is already recorded. */
export async function adopt(
  db: Database,
  deliveries: readonly { jobId: string; claimNo: string; messageId: string; sentAt: number }[],
): Promise<void> {
  if (deliveries.length === 0) return;
  await db.keyed.query(ADOPT_DELIVERY, [
    deliveries.map(({ jobId }) => jobId),
    deliveries.map(({ claimNo }) => claimNo),
    deliveries.map(({ messageId }) => messageId),
    deliveries.map(({ sentAt }) => sentAt),
  ]);
}
