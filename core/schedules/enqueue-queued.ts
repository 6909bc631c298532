import type { Database } from '../postgres/database.ts';
import { ENQUEUE_LIMITS } from './promote.ts';

// Those whose last try failed come last, in turn, without those whose rows other transactions have locked: they would
// keep their turn.
const READ_QUEUED = `
  with first as materialized (
    select name, payload_bytes from millrace.schedules
      where queued_tick_at is not null and paused_at is null and failed_at is null and name > $1
      order by name limit $2
  ), failed as materialized (
    select name, payload_bytes, failed_at from millrace.schedules
      where queued_tick_at is not null and paused_at is null and failed_at is not null
      order by failed_at > millrace.clock() desc, failed_at, name limit $3 for update skip locked
  )
  select q.name as schedule, q.payload_bytes as bytes, q.failed, millrace.is_busy(q.name) as busy
    from (
      select name, payload_bytes, false as failed, null as place from first
      union all
      select name, payload_bytes, true, row_number() over (order by failed_at > millrace.clock() desc, failed_at, name)
        from failed) q
    order by q.failed, q.place, q.name`;

/** A schedule with a queued tick. */
export interface QueuedSchedule {
  readonly schedule: string;
  /** Size of its payload as JSON text. */
  readonly bytes: number;
  /** Whether the last try to enqueue its job failed. */
  readonly failed: boolean;
  /** Whether a job of it is unfinished. */
  readonly busy: boolean;
}

/**
 * Returns up to `limit` schedules with a queued tick after the name `position`, and up to `failed` of those whose last
 * try failed.
 */
export async function readQueued(
  db: Database,
  position: string,
  { limit, failed }: { readonly limit: number; readonly failed: number },
): Promise<QueuedSchedule[]> {
  return (await db.keyed.query<QueuedSchedule>(READ_QUEUED, [position, limit, failed])).rows;
}

// A schedule with the overlap queue-one has at most one queued tick. Jobs are found by their place in an array, as in
// promote.ts.
const ENQUEUE_QUEUED = `
  with free as materialized (
    select s.*, row_number() over (order by s.name) as position
      from (select name from unnest($1::text[]) as n(name) order by name) l
        cross join lateral (select * from millrace.schedules k
          where k.name = l.name and k.queued_tick_at is not null and k.paused_at is null
            and not millrace.is_busy(k.name) for update skip locked) s
  ), made as materialized (
    select array_agg(e.id order by e.position) as ids, array_agg(e.deduplicated order by e.position) as deduplicated
      from millrace.enqueue_many((
        select coalesce(jsonb_agg(jsonb_build_object('job_type', f.job_type, 'routing_key', f.routing_key,
            'payload', millrace.tick_payload(f.payload, f.tick_key, f.queued_tick_at), 'priority', f.priority,
            'max_attempts', f.max_attempts, 'unique_key', f.unique_key, 'group_key', f.group_key,
            'run_at', millrace.spread_tick(f.name, f.spread_seconds, f.queued_tick_at),
            'start_by', millrace.spread_tick(f.name, f.spread_seconds, f.queued_tick_at)
              + make_interval(secs => f.start_by_seconds)) order by f.position), '[]')
          from free f)) e
  ), ticked as (
    update millrace.schedule_ticks t
      set job_id = m.ids[f.position],
          result = case when m.deduplicated[f.position] then 'deduplicated' else 'enqueued' end
      from free f cross join made m
      where t.schedule = f.name and t.tick_at = f.queued_tick_at
  ), cleared as (
    update millrace.schedules s set queued_tick_at = null, failed_at = null, version = s.version + 1
      -- Reads what was enqueued too: the upkeep can have deleted the row of a tick that was queued for 90 days.
      from free f cross join (select count(*) from made) m where s.name = f.name
  )
  select count(*)::integer as count from free`;

/** Enqueues the queued ticks of those of these schedules that have no unfinished job, and returns their number. */
export async function enqueueQueued(db: Database, schedules: readonly string[]): Promise<number> {
  const { rows } = await db.limited(ENQUEUE_LIMITS).query<{ count: number }>(ENQUEUE_QUEUED, [schedules]);
  return rows[0]?.count ?? 0;
}
