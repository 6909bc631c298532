import { openTimetable, type Times } from '../handler/cron.ts';
import type { HandlerAddress } from '../handler/naming.ts';
import type { CatchUp, Overlap } from '../handler/schedule.ts';
import { DISPATCHER_SILENT_SECONDS } from '../handler/timing.ts';
import type { JobStatus } from '../job.ts';
import type { ScheduleState } from '../numbers/count-schedules.ts';
import type { Queryable } from '../postgres/database.ts';

export interface Schedule extends HandlerAddress, Times {
  /** Its name. */
  readonly schedule: string;
  readonly state: ScheduleState;
  /** Whether a handler file declares it. */
  readonly declared: boolean;
  readonly catchUp: CatchUp;
  readonly overlap: Overlap;
  readonly spreadSeconds: number;
  readonly startBySeconds: number | null;
  readonly priority: number;
  readonly pausedAt: Date | null;
  readonly fault: string | null;
  /** Null while paused, and without a further tick. */
  readonly nextTickAt: Date | null;
  readonly lastTickAt: Date | null;
  /** The newest job of its ticks and of people who ran it; null before the first. Its status is null when pruned. */
  readonly lastJobId: string | null;
  readonly lastJobStatus: JobStatus | null;
  readonly createdAt: Date;
}

const LIST_SCHEDULES = `
  select s.name as schedule, millrace.state_of(s, $4) as state, s.declared, s.job_type as "jobType",
         s.routing_key as "routingKey", s.cron,
         s.every_seconds as "everySeconds", s.zone, s.catch_up as "catchUp", s.overlap,
         s.spread_seconds as "spreadSeconds", s.start_by_seconds as "startBySeconds", s.priority,
         s.paused_at as "pausedAt", s.fault,
         case when s.paused_at is null and isfinite(s.next_tick_at) then s.next_tick_at end as "nextTickAt",
         case when s.paused_at is null and s.fault is null and s.next_tick_at = '-infinity'
           then floor(extract(epoch from least(s.since, millrace.clock())) * 1000)::float8 end as "computeAfter",
         (select max(t.tick_at) from millrace.schedule_ticks t
            where t.schedule = s.name and t.tick_at <= millrace.clock()) as "lastTickAt",
         last.job_id::text as "lastJobId",
         coalesce((select j.status from millrace.jobs_live j where j.id = last.job_id),
                  (select j.status from millrace.jobs_finished j where j.id = last.job_id)) as "lastJobStatus",
         s.created_at as "createdAt"
    from millrace.schedules s
    left join lateral (
      select max(newest.job_id) as job_id
        from (values (false), (true)) kind(manual)
          cross join lateral (
            select t.job_id from millrace.schedule_ticks t
              where t.schedule = s.name and (t.result = 'manual') = kind.manual and t.job_id is not null
              order by t.job_id desc limit 1) newest) last on true
    where ($1::text is null or s.name = $1) and s.name > $2
    order by s.name limit $3`;

/** Returns the schedules by name, those after the name `after`. */
export async function listSchedules(
  db: Queryable,
  { limit, after = '' }: { readonly limit: number; readonly after?: string },
): Promise<Schedule[]> {
  const { rows } = await db.query<Row>(LIST_SCHEDULES, [null, after, limit, DISPATCHER_SILENT_SECONDS]);
  return rows.map(toSchedule);
}

/** Returns a schedule; undefined if the name is unknown. */
export async function findSchedule(db: Queryable, schedule: string): Promise<Schedule | undefined> {
  const { rows } = await db.query<Row>(LIST_SCHEDULES, [schedule, '', 1, DISPATCHER_SILENT_SECONDS]);
  return rows[0] && toSchedule(rows[0]);
}

/** `computeAfter`: milliseconds since 1970, for a schedule whose next tick the dispatcher has not yet computed. */
type Row = Schedule & { readonly computeAfter: number | null };

/** The dispatcher computes the next tick of a new or resumed schedule in its next round. A list shows it before. */
function toSchedule({ computeAfter, ...schedule }: Row): Schedule {
  if (computeAfter === null) return schedule;
  return { ...schedule, nextTickAt: nextTicks(schedule, computeAfter, 1)[0] ?? null };
}

/** A schedule with its payload, and the ticks after now that it has while it is not paused. */
export interface ShownSchedule extends Schedule {
  /** JSON text. */
  readonly payload: string;
  readonly nextTicks: readonly Date[];
}

const READ_PAYLOAD = `
  select s.payload::text as payload, extract(epoch from millrace.clock())::float8 * 1000 as now
    from millrace.schedules s where s.name = $1`;

/** Returns a schedule with its next ticks; undefined if the name is unknown. */
export async function showSchedule(db: Queryable, name: string, ticks: number): Promise<ShownSchedule | undefined> {
  const schedule = await findSchedule(db, name);
  const { rows } = await db.query<{ payload: string; now: number }>(READ_PAYLOAD, [name]);
  const [row] = rows;
  if (schedule === undefined || row === undefined) return undefined;
  return {
    ...schedule,
    payload: row.payload,
    nextTicks: schedule.fault === null ? nextTicks(schedule, row.now, ticks) : [],
  };
}

/** Returns the first ticks after a time, in milliseconds since 1970; none for an expression that is invalid. */
function nextTicks(times: Times, after: number, count: number): Date[] {
  const found: Date[] = [];
  try {
    const timetable = openTimetable(times);
    let tick = timetable.next(after);
    while (tick !== undefined && found.length < count) {
      found.push(new Date(tick));
      tick = timetable.next(tick);
    }
  } catch {
    // An expression that SQL stored: the dispatcher stores its fault in the next round.
  }
  return found;
}
