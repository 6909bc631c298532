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

// Skips locked rows too: the next dispatch then counts from the same number.
const STORE_REFUSALS = `
  with counted as (
    select * from unnest($1::text[], $2::integer[]) as c(queue_url, refusals)
  ), free as materialized (
    select job_type, routing_key from millrace.handlers where queue_url = any($1::text[])
      order by job_type, routing_key for update skip locked
  )
  update millrace.handlers h set refusals = c.refusals from free f, counted c
    where h.job_type = f.job_type and h.routing_key = f.routing_key and c.queue_url = h.queue_url`;

/** Stores the number of consecutive refusals of queues: the next run of a dispatcher continues to count. */
export async function storeRefusals(db: Database, refusals: ReadonlyMap<string, number>): Promise<void> {
  if (refusals.size === 0) return;
  await db.query(STORE_REFUSALS, [[...refusals.keys()], [...refusals.values()]]);
}
