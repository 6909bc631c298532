import { messageOf } from '../failure.ts';
import { openTimetable, type Times, type Timetable } from '../handler/cron.ts';
import type { CatchUp } from '../handler/schedule.ts';
import type { Database } from '../postgres/database.ts';
import { storable } from '../text.ts';
import { dueTicks } from './due-ticks.ts';

const LONGEST_FAULT = 1000;

// A schedule is also read when the clock was set back since its next tick was computed: that tick may be days ahead.
// Those whose last try failed come last, in turn. Schedules whose rows other transactions have locked are left out: a
// thousand of them would hide all others.
const READ_DUE = `
  with first as materialized (
    select name from millrace.schedules
      where paused_at is null and fault is null and failed_at is null and next_tick_at <= millrace.clock()
      order by next_tick_at limit $1 for update skip locked
  ), ahead as materialized (
    select name from millrace.schedules
      where paused_at is null and fault is null and failed_at is null and computed_at > millrace.clock()
      order by computed_at limit $1 for update skip locked
  ), failed as materialized (
    select name from millrace.schedules
      where paused_at is null and fault is null and failed_at is not null
        and (next_tick_at <= millrace.clock() or computed_at > millrace.clock())
      order by failed_at > millrace.clock() desc, failed_at, name limit $2 for update skip locked
  ), due as (
    select name from first union select name from ahead union select name from failed
  )
  select s.name as schedule, s.version::text, s.cron, s.every_seconds as "everySeconds", s.zone,
         s.catch_up as "catchUp", s.payload_bytes as bytes, s.failed_at is not null as failed,
         round(extract(epoch from millrace.clock()) * 1000)::float8 as now,
         floor(extract(epoch from case
           when s.computed_at > millrace.clock() then millrace.clock()
           when s.next_tick_at = '-infinity' then least(s.since, millrace.clock())
           else s.next_tick_at - interval '1 millisecond' end) * 1000)::float8 as after
    from due d join millrace.schedules s on s.name = d.name
    order by failed, s.failed_at > millrace.clock() desc, s.failed_at, s.next_tick_at, s.name`;

/** A schedule with a tick to make, or whose next tick is unknown. `now` and `after` are milliseconds since 1970. */
export interface DueSchedule extends Times {
  readonly schedule: string;
  readonly version: string;
  readonly catchUp: CatchUp;
  /** Size of its payload as JSON text. */
  readonly bytes: number;
  /** Whether the last try to enqueue its job failed. */
  readonly failed: boolean;
  readonly now: number;
  readonly after: number;
}

/** What a round found out about a schedule. */
export interface Computed {
  readonly schedule: string;
  readonly version: string;
  /** Times as ISO text. */
  readonly ticks: readonly string[];
  /** Null without a further tick. */
  readonly next: string | null;
  readonly fault: string | null;
  /** Size of the payloads of the ticks. */
  readonly bytes: number;
  /** Whether more ticks are due, for another statement. */
  readonly isCut: boolean;
}

// One transaction makes the ticks, their jobs and the next tick. The lock and the version leave a schedule to whichever
// dispatcher comes first; the key of schedule_ticks makes a second job for a tick impossible even without them. Jobs
// are found by their place in an array, because Postgres joins two lists of a thousand in a million steps.
const STORE_COMPUTED = `
  with chosen as materialized (
    select s.*, c.ticks, c.next, c.fault as new_fault
      from (select * from jsonb_to_recordset($1::jsonb) as r(schedule text, version bigint, ticks timestamptz[],
              next timestamptz, fault text) order by schedule) c
      cross join lateral (select * from millrace.schedules k
        where k.name = c.schedule and k.version = c.version and k.paused_at is null for update skip locked) s
  ), tick as materialized (
    select c.*, t.tick_at, row_number() over (partition by c.name order by t.tick_at) as place,
           c.overlap <> 'allow' and (c.queued_tick_at is not null or millrace.is_busy(c.name)) as busy
      from chosen c left join lateral (
        select u.tick_at from unnest(c.ticks) as u(tick_at)
          where not exists (select from millrace.schedule_ticks k where k.schedule = c.name and k.tick_at = u.tick_at)
      ) t on true
  ), judged as materialized (
    select t.*, case
        when t.tick_at is null then null
        when t.overlap = 'allow' or (t.place = 1 and not t.busy) then 'enqueued'
        when t.overlap = 'queue-one' and t.queued_tick_at is null and t.place = case when t.busy then 1 else 2 end
          then 'queued'
        else 'overlapped' end as result
      from tick t
  ), numbered as materialized (
    select j.*, case when j.result = 'enqueued' then
        count(*) filter (where j.result = 'enqueued') over (order by j.name, j.tick_at) end as position
      from judged j
  ), made as materialized (
    select array_agg(e.id order by e.position) as ids, array_agg(e.deduplicated order by e.position) as deduplicated
      from millrace.enqueue_many((
        select coalesce(jsonb_agg(jsonb_build_object('job_type', n.job_type, 'routing_key', n.routing_key,
            'payload', millrace.tick_payload(n.payload, n.tick_key, n.tick_at), 'priority', n.priority,
            'max_attempts', n.max_attempts, 'unique_key', n.unique_key, 'group_key', n.group_key,
            'run_at', millrace.spread_tick(n.name, n.spread_seconds, n.tick_at),
            'start_by', millrace.spread_tick(n.name, n.spread_seconds, n.tick_at)
              + make_interval(secs => n.start_by_seconds)) order by n.position), '[]')
          from numbered n where n.position is not null)) e
  ), stored as (
    insert into millrace.schedule_ticks (schedule, tick_at, result, job_id)
      select n.name, n.tick_at, case when m.deduplicated[n.position] then 'deduplicated' else n.result end,
             m.ids[n.position]
        from numbered n cross join made m
        where n.result is not null order by n.name, n.tick_at
      returning result
  ), moved as (
    update millrace.schedules s
      set next_tick_at = coalesce(n.next, 'infinity'), computed_at = millrace.clock(), fault = n.new_fault,
          failed_at = case when s.queued_tick_at is not null then s.failed_at end,
          queued_tick_at = coalesce(n.queued, s.queued_tick_at), version = s.version + 1
      from (select name, next, new_fault, max(tick_at) filter (where result = 'queued') as queued
              from numbered group by name, next, new_fault) n
      where s.name = n.name
  )
  select result, count(*)::integer as count from stored group by result order by result`;

/** Returns the schedules that are due, the longest due first; then up to `failed` of those whose last try failed. */
export async function readDueSchedules(db: Database, limit: number, failed = 0): Promise<DueSchedule[]> {
  return (await db.keyed.query<DueSchedule>(READ_DUE, [limit, failed])).rows;
}

/** Keeps what equal expressions have in common: many schedules are due at the same full hour. */
interface Timetables {
  readonly parsed: Map<string, Timetable>;
  readonly ticks: Map<string, { ticks: readonly number[]; next: number | undefined }>;
}

export function openTimetables(): Timetables {
  return { parsed: new Map(), ticks: new Map() };
}

/**
 * Computes the ticks of a schedule; a fault of its expression becomes a part of the result. The first ticks whose
 * payloads have `mostBytes` together, or the first one, are stored now, and the others stay due.
 */
export function computeTicks(due: DueSchedule, { parsed, ticks: known }: Timetables, mostBytes = Infinity): Computed {
  const { schedule, version, now, after, catchUp } = due;
  try {
    const times = `${due.cron} ${due.everySeconds} ${due.zone}`;
    const timetable = parsed.get(times) ?? openTimetable(due);
    parsed.set(times, timetable);
    const key = `${times} ${catchUp} ${after}`;
    const found = known.get(key) ?? {
      ticks: dueTicks(timetable, catchUp, { after, now }),
      next: timetable.next(Math.max(after, now)),
    };
    known.set(key, found);
    const stored = found.ticks.slice(0, Math.max(1, Math.floor(mostBytes / due.bytes)));
    const isCut = stored.length < found.ticks.length;
    const next = isCut ? found.ticks[stored.length] : found.next;
    const computed = { ticks: stored.map(isoText), next: next === undefined ? null : isoText(next), isCut };
    return { schedule, version, ...computed, fault: null, bytes: due.bytes * stored.length };
  } catch (error) {
    const fault = storable(messageOf(error), LONGEST_FAULT);
    return { schedule, version, ticks: [], next: null, isCut: false, fault, bytes: 0 };
  }
}

function isoText(time: number): string {
  return new Date(time).toISOString();
}

/** The number of ticks by what became of them. */
type TickCounts = Readonly<Partial<Record<'enqueued' | 'deduplicated' | 'queued' | 'overlapped', number>>>;

/**
 * Limits of the statements that enqueue. An application that has an unfinished transaction with the unique key of a
 * schedule must delay this schedule alone.
 */
export const ENQUEUE_LIMITS = { keyed: true, lockMs: 100, statementMs: 2000 };

/** Makes the ticks and their jobs, in one transaction. Leaves schedules that changed since they were read. */
export async function storeTicks(db: Database, computed: readonly Computed[]): Promise<TickCounts> {
  type Row = { result: keyof TickCounts; count: number };
  const { rows } = await db.limited(ENQUEUE_LIMITS).query<Row>(STORE_COMPUTED, [JSON.stringify(computed)]);
  return Object.fromEntries(rows.map(({ result, count }) => [result, count]));
}

const POSTPONE_SCHEDULE = `
  update millrace.schedules set failed_at = millrace.clock()
    where name = any(array(select s.name from millrace.schedules s where s.name = $1 for update skip locked))`;

/** Puts a schedule whose job could not be enqueued behind the others, until it succeeds. */
export async function postponeSchedule(db: Database, schedule: string): Promise<void> {
  await db.keyed.query(POSTPONE_SCHEDULE, [schedule]);
}
