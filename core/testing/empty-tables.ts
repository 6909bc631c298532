import type { Queryable } from '../postgres/queryable.ts';

const EMPTY_TABLES = `
  delete from millrace.jobs_live; delete from millrace.jobs_finished; delete from millrace.dead_letters;
  delete from millrace.job_attempts; delete from millrace.operations; delete from millrace.dead_letter_queues;
  delete from millrace.job_timings; delete from millrace.job_timing_totals; delete from millrace.job_numbers;
  delete from millrace.job_counts; delete from millrace.upkeep; delete from millrace.cancel_requests;
  delete from millrace.job_events; delete from millrace.job_event_totals; delete from millrace.schedule_ticks;
  delete from millrace.job_joins; delete from millrace.unique_keys;
  update millrace.schedules
    set since = millrace.clock(), next_tick_at = '-infinity', computed_at = null, queued_tick_at = null, fault = null,
        failed_at = null, version = version + 1;
  update millrace.handlers set max_in_flight = max_in_flight_floor, paused_at = null, held_until = null`;

/** Deletes all jobs and what is known about them, and begins the ticks of all schedules now. Keeps the handlers. */
export async function emptyTables(db: Queryable): Promise<void> {
  await db.query(EMPTY_TABLES);
}
