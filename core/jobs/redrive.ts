import type { Database, Queryable } from '../postgres/database.ts';

const REDRIVE_JOBS = `select id from millrace.redrive($1::bigint[], $2::bigint[], $3) as id`;

/** Redrives dead jobs, each only under the given claim, and returns the ids of the jobs that it moved. */
export async function redrive(
  db: Database,
  claims: readonly { jobId: string; claimNo: string }[],
  door: string,
): Promise<string[]> {
  if (claims.length === 0) return [];
  const { rows } = await db.query<{ id: string }>(REDRIVE_JOBS, [
    claims.map(({ jobId }) => jobId),
    claims.map(({ claimNo }) => claimNo),
    door,
  ]);
  return rows.map(({ id }) => id);
}

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
