import type { Database } from '../postgres/database.ts';

// Jobs whose message is in a queue are ended by their start.
const SKIP_LATE = `
  with late as materialized (
    select j.id from millrace.jobs_live j
      where j.start_by < millrace.clock() and j.status in ('pending', 'failed')
      order by j.start_by limit $1 for update of j skip locked
  ), skipped as (
    select millrace.finish_late(array_agg(l.id)) as id from late l having count(*) > 0
  )
  select count(*)::integer as jobs from skipped`;

/** Ends up to `limit` waiting jobs that are too late to start, and returns their number. */
export async function skipLate(db: Database, limit: number): Promise<number> {
  const { rows } = await db.keyed.query<{ jobs: number }>(SKIP_LATE, [limit]);
  return rows[0]?.jobs ?? 0;
}
