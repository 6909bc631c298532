import type { Database } from '../postgres/database.ts';

// A row that somebody holds is not waited for: the next send that finds no queue holds its handler.
const HOLD_HANDLERS = `
  with free as materialized (
    select job_type, routing_key from millrace.handlers where queue_url = any($1::text[])
      order by job_type, routing_key for update skip locked
  )
  update millrace.handlers h set held_until = millrace.clock() + make_interval(secs => $2), hold_reason = $3
    from free f where h.job_type = f.job_type and h.routing_key = f.routing_key`;

/** Claims nothing for the handlers of these queues for a while. */
export async function holdHandlers(
  db: Database,
  hold: { queueUrls: readonly string[]; seconds: number; reason: string },
): Promise<void> {
  if (hold.queueUrls.length === 0) return;
  await db.query(HOLD_HANDLERS, [hold.queueUrls, hold.seconds, hold.reason]);
}
