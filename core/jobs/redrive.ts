import type { Database } from '../postgres/database.ts';

const REDRIVE_JOBS = `select id from millrace.redrive($1::bigint[], $2::bigint[], $3) as id`;

/** Puts dead jobs back to work, each only under the claim named; answers the ids that really moved. */
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
