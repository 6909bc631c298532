import { afterAll, beforeEach } from 'vitest';
import { promoteSchedules } from '../../../core/dispatch/promote-schedules.ts';
import type { ScheduleOptions } from '../../../core/handler/schedule.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { deploy, type Engine, openEngine } from '../../support/runtime-engine.ts';

/** A database whose clock the tests set, and a dispatcher that only makes ticks. */
export interface ScheduleWorld extends Engine {
  /** Sets the clock, which then stands still. */
  setClock(time: string): Promise<void>;
  /** Deploys the handler `report` with these schedules. */
  declare(schedules: Readonly<Record<string, ScheduleOptions>>): Promise<void>;
  /** Runs the schedules of one round; returns the number of jobs. */
  round(changed?: { db?: Database; now?: () => number }): Promise<number>;
  /** Returns the run times of all jobs, as `MM-DDTHH:MM`, oldest first. */
  runTimes(): Promise<string[]>;
  /** Returns the ticks with what became of them, such as `2027-03-14T07:00 enqueued`. */
  ticks(): Promise<string[]>;
  /** Ends all jobs as succeeded. */
  finishJobs(): Promise<void>;
}

const STILL_CLOCK = `
  create table public.still_clock (at timestamptz not null);
  insert into public.still_clock values ('2027-01-01T00:00:00Z');
  grant select on public.still_clock to public;
  create or replace function millrace.clock() returns timestamptz language sql stable parallel safe
    as 'select at from public.still_clock'`;

export async function openScheduleWorld(): Promise<ScheduleWorld> {
  const engine = await openEngine();
  const { pool, db, log } = engine;
  await pool.query(STILL_CLOCK);
  afterAll(() => engine.close());
  beforeEach(async () => {
    await pool.query(`delete from millrace.jobs_live; delete from millrace.schedule_ticks;
      delete from millrace.schedules; update public.still_clock set at = '2027-01-01T00:00:00Z'`);
    log.lines.length = 0;
  });
  const queued = { position: '' };
  return {
    ...engine,
    setClock: async (time) => void (await pool.query('update public.still_clock set at = $1', [time])),
    declare: (schedules) => deploy(db, { jobType: 'report', schedules }),
    round: ({ db: other = db, now = () => 0 } = {}) => promoteSchedules({ db: other, log, time: { now }, queued }),
    runTimes: async () => {
      const { rows } = await pool.query(
        `select to_char(run_at at time zone 'UTC', 'MM-DD"T"HH24:MI') as at from millrace.jobs order by run_at, id`,
      );
      return rows.map(({ at }) => at);
    },
    ticks: async () => {
      const { rows } = await pool.query(`select to_char(tick_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI') || ' ' ||
        result as line from millrace.schedule_ticks order by tick_at, schedule`);
      return rows.map(({ line }) => line);
    },
    finishJobs: async () => void (await pool.query('delete from millrace.jobs_live')),
  };
}
