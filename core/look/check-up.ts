import type { Queryable } from '../postgres/database.ts';

// Each read is a separate statement, so that a failure does not hide the results of the others.

/** The clock of the database, and its dispatcher. */
export interface Rounds {
  readonly now: Date;
  /** Seconds since the last round; null when no dispatcher ever ran a round. */
  readonly dispatcherSilentFor: number | null;
}

/** The number of deployed handlers, and the names of those that claim nothing. */
export interface HandlerStates {
  readonly handlers: number;
  readonly paused: readonly string[];
  /** The held handlers, each with the reason. */
  readonly held: readonly string[];
}

/** A handler that claims jobs and has a job that has been due for too long. */
export interface LateHandler {
  readonly handler: string;
  /** Time for which its oldest job has been due. */
  readonly seconds: number;
  readonly inFlight: number;
  readonly maxInFlight: number;
}

const READ_ROUNDS = `
  select millrace.clock() as now,
         (select extract(epoch from millrace.clock() - last_round_at)::float8 from millrace.dispatcher_runs)
           as "dispatcherSilentFor"`;

const READ_HANDLER_STATES = `
  select (select count(*)::integer from millrace.handlers) as handlers,
         array(select concat_ws('.', h.job_type, nullif(h.routing_key, '')) from millrace.handlers h
           where h.paused_at is not null order by 1) as paused,
         array(select format('%s: %s', concat_ws('.', h.job_type, nullif(h.routing_key, '')), h.hold_reason)
           from millrace.handlers h where h.held_until > millrace.clock() order by 1) as held`;

// One step of the claim's index for each handler and priority, regardless of the number of jobs.
const FIND_LATE_HANDLERS = `
  select concat_ws('.', h.job_type, nullif(h.routing_key, '')) as handler,
         extract(epoch from millrace.clock() - d.due_at)::float8 as seconds, h.max_in_flight as "maxInFlight",
         (select count(*)::integer from millrace.jobs_live j
            where j.job_type = h.job_type and j.routing_key = h.routing_key and j.in_flight) as "inFlight"
    from millrace.handlers h
    cross join lateral (
      select min(first.due_at) as due_at from generate_series(0, 9) p
        cross join lateral (select j.due_at from millrace.jobs_live j
          where j.job_type = h.job_type and j.routing_key = h.routing_key and j.priority = p.p
            and j.due_at is not null
          order by j.due_at limit 1) first) d
    where h.paused_at is null and coalesce(h.held_until <= millrace.clock(), true)
      and d.due_at < millrace.clock() - make_interval(secs => $1)
    order by d.due_at`;

const FIND_UNMIRRORED = `
  select substring(h.dead_letter_queue_url from '[^/]+$') as queue from millrace.handlers h
    left join millrace.dead_letter_queues q on q.queue_url = h.dead_letter_queue_url
    where coalesce(q.swept_at, h.deployed_at) < millrace.clock() - make_interval(secs => $1) order by 1`;

const COUNT_OPEN_DEAD_LETTERS = `select count(*)::integer as count from millrace.dead_letters where status = 'open'`;

const COUNT_OVERDUE_LEASES = `
  select count(*)::integer as count from millrace.jobs_live j
    where j.in_flight and j.lease_expires_at < millrace.clock() - interval '2 minutes'`;

export async function readRounds(db: Queryable): Promise<Rounds> {
  return only(await db.query<Rounds>(READ_ROUNDS));
}

export async function readHandlerStates(db: Queryable): Promise<HandlerStates> {
  return only(await db.query<HandlerStates>(READ_HANDLER_STATES));
}

/** Returns the handlers with a job that has been due for longer than `seconds`, the latest first. */
export async function findLateHandlers(db: Queryable, seconds: number): Promise<LateHandler[]> {
  return (await db.query<LateHandler>(FIND_LATE_HANDLERS, [seconds])).rows;
}

/** Returns the dead-letter queues whose last sweep by the mirror is older than `seconds`, or that had none. */
export async function findUnmirrored(db: Queryable, seconds: number): Promise<string[]> {
  const { rows } = await db.query<{ queue: string }>(FIND_UNMIRRORED, [seconds]);
  return rows.map(({ queue }) => queue);
}

export async function countOpenDeadLetters(db: Queryable): Promise<number> {
  return only(await db.query<{ count: number }>(COUNT_OPEN_DEAD_LETTERS)).count;
}

/** Counts the jobs with an expired lease that the dispatcher has not rescued. */
export async function countOverdueLeases(db: Queryable): Promise<number> {
  return only(await db.query<{ count: number }>(COUNT_OVERDUE_LEASES)).count;
}

function only<Row>({ rows: [row] }: { readonly rows: readonly Row[] }): Row {
  if (row === undefined) throw new Error('the database returned no row');
  return row;
}
