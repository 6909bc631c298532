import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';

// Jobs whose message is in a queue are ended by their start.
const SKIP_LATE = `
  with late as materialized (
    select j.id from millrace.jobs_live j
      where j.start_by < millrace.clock() and j.status = 'pending' and j.attempts = 0
      order by j.start_by limit $1 for update of j skip locked
  ), skipped as (
    select millrace.finish_late(array_agg(l.id)) as id from late l having count(*) > 0
  )
  select count(*)::integer as jobs from skipped`;

const LIMIT = 1000;
const LONGEST_MS = 500;

/**
 * Ends the waiting jobs that are too late to start, for half a second, so that they delay no job that is not. A failure
 * is only logged: a start ends late jobs, too.
 */
export async function skipLate(deps: { readonly db: Database; readonly log: Log; readonly time: Time }): Promise<void> {
  const end = deps.time.now() + LONGEST_MS;
  try {
    for (let skipped = LIMIT; skipped === LIMIT && deps.time.now() < end; ) {
      const { rows } = await deps.db.keyed.query<{ jobs: number }>(SKIP_LATE, [LIMIT]);
      skipped = rows[0]?.jobs ?? 0;
    }
  } catch (error) {
    deps.log.error('maintain_failed', { error });
  }
}
