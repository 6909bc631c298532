import type { HandlerAddress } from '../handler/naming.ts';
import type { Queryable } from '../postgres/database.ts';

const PAUSE_HANDLER = `select millrace.pause($1, $2)`;

/** Pauses a handler: the dispatcher claims nothing for it, and jobs in flight finish. Idempotent. */
export async function pauseHandler(db: Queryable, { jobType, routingKey }: HandlerAddress): Promise<void> {
  await db.query(PAUSE_HANDLER, [jobType, routingKey]);
}

const RESUME_HANDLER = `select millrace.resume($1, $2)`;

/** Resumes a handler: the dispatcher claims its jobs again from the next round. */
export async function resumeHandler(db: Queryable, { jobType, routingKey }: HandlerAddress): Promise<void> {
  await db.query(RESUME_HANDLER, [jobType, routingKey]);
}
