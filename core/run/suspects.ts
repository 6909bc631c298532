import type { Database } from '../postgres/database.ts';

const FIND_SUSPECTS = `
  select j.id from millrace.jobs_live j
    join unnest($1::bigint[], $2::bigint[]) as i(id, claim_no) on i.id = j.id and i.claim_no = j.claim_no
    where j.status = 'dispatched' and j.suspect
    order by j.id`;

/** Returns the ids of the claimed jobs whose last attempt may have ended its process. */
export async function findSuspects(
  db: Database,
  claims: readonly { jobId: string; claimNo: string }[],
): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(FIND_SUSPECTS, [
    claims.map(({ jobId }) => jobId),
    claims.map(({ claimNo }) => claimNo),
  ]);
  return new Set(rows.map(({ id }) => id));
}
