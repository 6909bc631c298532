import type { Database } from '../postgres/database.ts';

// The statement skips a locked row instead of waiting: the next send to the missing queue holds the handler.
const HOLD_HANDLERS = `
  with free as materialized (
    select job_type, routing_key from millrace.handlers where queue_url = any($1::text[])
      order by job_type, routing_key for update skip locked
  )
  update millrace.handlers h set held_until = millrace.clock() + make_interval(secs => $2), hold_reason = $3
    from free f where h.job_type = f.job_type and h.routing_key = f.routing_key`;

/** Holds the handlers of these queues: the dispatcher claims nothing for them for some seconds. */
export async function holdHandlers(
  db: Database,
  hold: { queueUrls: readonly string[]; seconds: number; reason: string },
): Promise<void> {
  if (hold.queueUrls.length === 0) return;
  await db.query(HOLD_HANDLERS, [hold.queueUrls, hold.seconds, hold.reason]);
}
