import type { HandlerAddress } from '../handler/naming.ts';
import type { Queryable } from '../postgres/database.ts';

const PAUSE_HANDLER = `select millrace.pause($1, $2)`;

/** Claims nothing for it any more; what is in flight finishes. Pausing it again changes nothing. */
export async function pauseHandler(db: Queryable, { jobType, routingKey }: HandlerAddress): Promise<void> {
  await db.query(PAUSE_HANDLER, [jobType, routingKey]);
}

const RESUME_HANDLER = `select millrace.resume($1, $2)`;

/** Claims for it again, from the next round on. */
export async function resumeHandler(db: Queryable, { jobType, routingKey }: HandlerAddress): Promise<void> {
  await db.query(RESUME_HANDLER, [jobType, routingKey]);
}
