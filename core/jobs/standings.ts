import type { JobStatus } from '../job.ts';
import type { Database } from '../postgres/database.ts';

const READ_STANDINGS = `
  select w.id as "jobId", j.status, j.claim_no = w.claim_no as ours, j.request_id as "requestId"
    from unnest($1::bigint[], $2::bigint[]) as w(id, claim_no)
    left join millrace.jobs_live j on j.id = w.id`;

/** How jobs stand that a settle did not change: null status means no live row. */
export interface Standing {
  readonly jobId: string;
  readonly status: JobStatus | null;
  readonly ours: boolean | null;
  readonly requestId: string | null;
}

export async function readStandings(
  db: Database,
  claims: readonly { readonly jobId: string; readonly claimNo: string }[],
): Promise<Standing[]> {
  const { rows } = await db.query<Standing>(READ_STANDINGS, [
    claims.map(({ jobId }) => jobId),
    claims.map(({ claimNo }) => claimNo),
  ]);
  return rows;
}
