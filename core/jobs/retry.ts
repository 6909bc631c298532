import type { Queryable } from '../postgres/database.ts';

/**
 * `redriven`: it was dead and has fresh attempts. `due`: it had failed and no longer waits. `busy`: its row is locked.
 * `not_dead`: any other state.
 */
export type RetryAnswer = 'redriven' | 'due' | 'busy' | 'not_dead' | 'not_found';

const RETRY_JOB = `select millrace.retry($1::bigint) as answer`;

/** Tries a job again now. */
export async function retry(db: Queryable, jobId: string): Promise<RetryAnswer> {
  const { rows } = await db.query<{ answer: RetryAnswer }>(RETRY_JOB, [jobId]);
  return rows[0]?.answer ?? 'not_found';
}
