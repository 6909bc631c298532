import { type HandlerAddress, handlerName } from '../handler/naming.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';

// Jobs whose message is in a queue are ended by their start. `case` hides the two columns from the planner: without
// statistics, it would expect few rows, and sort all late jobs for each thousand of them.
const SKIP_LATE = `
  with late as materialized (
    select j.id, j.job_type, j.routing_key from millrace.jobs_live j
      where j.start_by < millrace.clock() and case when j.status = 'pending' then j.attempts = 0 else false end
      order by j.start_by limit $1 for update of j skip locked
  ), skipped as (
    select millrace.finish_late(array_agg(l.id)) as id from late l having count(*) > 0
  )
  select l.job_type as "jobType", l.routing_key as "routingKey", count(*)::integer as jobs
    from skipped s join late l on l.id = s.id
    group by l.job_type, l.routing_key`;

interface Skipped extends HandlerAddress {
  readonly jobs: number;
}

const LIMIT = 1000;
/** Handlers with a line of their own: a producer can mistype a job type in any number of ways. */
const MOST_LINES = 20;
const LONGEST_MS = 500;

/**
 * Ends the waiting jobs that are too late to start, for half a second, so that they delay no job that is not, and logs
 * how many of each handler. Returns whether more may be left. A failure is only logged: a start ends late jobs, too.
 */
export async function skipLate(deps: {
  readonly db: Database;
  readonly log: Log;
  readonly time: Time;
}): Promise<boolean> {
  const end = deps.time.now() + LONGEST_MS;
  const counts = new Map<string, Skipped>();
  let skipped = LIMIT;
  try {
    while (skipped === LIMIT && deps.time.now() < end) {
      const { rows } = await deps.db.keyed.query<Skipped>(SKIP_LATE, [LIMIT]);
      for (const row of rows) {
        const name = handlerName(row);
        counts.set(name, { ...row, jobs: row.jobs + (counts.get(name)?.jobs ?? 0) });
      }
      skipped = rows.reduce((sum, { jobs }) => sum + jobs, 0);
    }
  } catch (error) {
    deps.log.error('maintain_failed', { error });
    skipped = 0;
  }
  logSkipped(deps.log, [...counts.values()]);
  return skipped === LIMIT;
}

function logSkipped(log: Log, skipped: readonly Skipped[]): void {
  const most = skipped.toSorted((a, b) => b.jobs - a.jobs);
  for (const one of most.slice(0, MOST_LINES)) {
    const { jobType, routingKey, jobs } = one;
    log.warn('jobs_skipped', { job_type: jobType, ...(routingKey !== '' && { routing_key: routingKey }), jobs });
  }
  const rest = most.slice(MOST_LINES).reduce((sum, { jobs }) => sum + jobs, 0);
  if (rest > 0) log.warn('jobs_skipped', { jobs: rest });
}
