import type { Database } from '../postgres/database.ts';

const CONFIRM_DISPATCH = `
  update millrace.dispatches
    set sent_at = millrace.clock(), sent_count = $2, refused_count = $3
    where claim_no = $1 and sent_at is null and released_at is null`;

/**
 * Records that every job of a dispatch was either sent or released. The dispatcher releases all jobs of a dispatch
 * that is not confirmed in time; returns `false` when it already has.
 */
export async function confirmDispatch(
  db: Database,
  claimNo: string,
  counts: { sent: number; refused: number },
): Promise<boolean> {
  const { rowCount } = await db.query(CONFIRM_DISPATCH, [claimNo, counts.sent, counts.refused]);
  return rowCount === 1;
}
