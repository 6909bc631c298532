import type { Database } from '../postgres/database.ts';

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
