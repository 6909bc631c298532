import type { Queryable } from '../postgres/database.ts';

/** The state of a deployment that the database knows. Times are in seconds. */
export interface CheckUp {
  readonly now: Date;
  /** Time since the last round; null when no dispatcher ever ran a round. */
  readonly dispatcherSilentFor: number | null;
  readonly handlers: number;
  readonly paused: readonly string[];
  readonly held: readonly string[];
  /** Dead-letter queues whose last sweep by the mirror is too old, or that were never swept. */
  readonly unmirrored: readonly string[];
  readonly deadLetters: number;
  /** Number of running jobs with an expired lease that the dispatcher has not rescued. */
  readonly overdueLeases: number;
}

const CHECK_UP = `
  select millrace.clock() as now,
         (select extract(epoch from millrace.clock() - last_round_at)::float8 from millrace.dispatcher_runs)
           as "dispatcherSilentFor",
         (select count(*)::integer from millrace.handlers) as handlers,
         array(select concat_ws('.', h.job_type, nullif(h.routing_key, '')) from millrace.handlers h
           where h.paused_at is not null order by 1) as paused,
         array(select format('%s: %s', concat_ws('.', h.job_type, nullif(h.routing_key, '')), h.hold_reason)
           from millrace.handlers h where h.held_until > millrace.clock() order by 1) as held,
         array(select substring(h.dead_letter_queue_url from '[^/]+$') from millrace.handlers h
           left join millrace.dead_letter_queues q on q.queue_url = h.dead_letter_queue_url
           where coalesce(q.swept_at, h.deployed_at) < millrace.clock() - make_interval(secs => $1) order by 1)
           as unmirrored,
         (select count(*)::integer from millrace.dead_letters where status = 'open') as "deadLetters",
         (select count(*)::integer from millrace.jobs_live j
            where j.in_flight and j.lease_expires_at < millrace.clock() - interval '2 minutes') as "overdueLeases"`;

/** Reads the state of a deployment in one statement. */
export async function checkUp(db: Queryable, mirrorSilentSeconds: number): Promise<CheckUp> {
  const { rows } = await db.query<CheckUp>(CHECK_UP, [mirrorSilentSeconds]);
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no row');
  return row;
}
