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

const COUNT_SCHEDULES = `
  with judged as (select s.name, s.fault, millrace.state_of(s, $1) as state from millrace.schedules s)
  select state, count(*)::integer as count, (array_agg(name order by name))[:5] as names,
         (array_agg(fault order by name))[:5] as faults
    from judged group by state order by state`;

export async function countSchedules(db: Queryable): Promise<SchedulesIn[]> {
  return (await db.query<SchedulesIn>(COUNT_SCHEDULES, [DISPATCHER_SILENT_SECONDS])).rows;
}
