import type { Queryable } from '../postgres/database.ts';

export type RetryAnswer =
  /** The job was a dead letter, and now has fresh attempts. */
  | 'redriven'
  /** The job had failed, and its next attempt is now due at once. */
  | 'due'
  /** Another transaction has locked the job's row. */
  | 'busy'
  /** The job is in any other state. */
  | 'not_dead'
  /** No job has this id. */
  | 'not_found';

const RETRY_JOB = `select millrace.retry($1::bigint) as answer`;

/** Makes a failed or dead job due at once. */
export async function retryJob(db: Queryable, jobId: string): Promise<RetryAnswer> {
  const { rows } = await db.query<{ answer: RetryAnswer }>(RETRY_JOB, [jobId]);
  return rows[0]?.answer ?? 'not_found';
}
