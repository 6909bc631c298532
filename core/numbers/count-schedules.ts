import { DISPATCHER_SILENT_SECONDS } from '../handler/timing.ts';
import type { Queryable } from '../postgres/database.ts';

/** `late`: the dispatcher has not made its next tick in time. `failed`: its `fault` states why it has no ticks. */
export type ScheduleState = 'active' | 'paused' | 'late' | 'failed' | 'no_handler';

/** The schedules of one state. */
export interface SchedulesIn {
  readonly state: ScheduleState;
  readonly count: number;
  /** The first names. */
  readonly names: readonly string[];
  /** Why those schedules have no ticks; null for each that has some. */
  readonly faults: readonly (string | null)[];
}

const MOST_LATE = 1000;

const COUNT_SCHEDULES = `
  with judged as (select s.name, s.fault, millrace.state_of(s, $1) as state from millrace.schedules s)
  select state, count(*)::integer as count, (array_agg(name order by name))[:5] as names,
         (array_agg(fault order by name))[:5] as faults
    from judged group by state order by state`;

export async function countSchedules(db: Queryable): Promise<SchedulesIn[]> {
  return (await db.query<SchedulesIn>(COUNT_SCHEDULES, [DISPATCHER_SILENT_SECONDS])).rows;
}

// The index of due schedules bounds the rows that are read: with many schedules, hardly any is late.
const COUNT_LATE = `
  select exists (select from millrace.schedules) as "hasSchedules",
         count(*) filter (where millrace.state_of(due.schedule, $1) = 'late')::integer as late
    from (select s as schedule from millrace.schedules s
            where s.paused_at is null and s.fault is null
              and s.next_tick_at < millrace.clock() - make_interval(secs => $1)
            order by s.next_tick_at limit $2) due`;

/** Returns the number of late schedules, up to 1,000; undefined if there are no schedules. */
export async function countLate(db: Queryable): Promise<number | undefined> {
  const values = [DISPATCHER_SILENT_SECONDS, MOST_LATE];
  const { rows } = await db.query<{ hasSchedules: boolean; late: number }>(COUNT_LATE, values);
  return rows[0]?.hasSchedules ? rows[0].late : undefined;
}
