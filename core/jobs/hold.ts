import type { Database } from '../database.ts';

const HOLD_HANDLERS = `
  update millrace.handlers set held_until = millrace.clock() + make_interval(secs => $2), hold_reason = $3
    where queue_url = any($1::text[])`;

/** Claims nothing for the handlers of these queues for a while. */
export async function holdHandlers(
  db: Database,
  hold: { queueUrls: readonly string[]; seconds: number; reason: string },
): Promise<void> {
  if (hold.queueUrls.length === 0) return;
  await db.query(HOLD_HANDLERS, [hold.queueUrls, hold.seconds, hold.reason]);
}
