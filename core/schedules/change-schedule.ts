import type { ScheduleSpec } from '../handler/schedule.ts';
import type { Queryable } from '../postgres/database.ts';

const CREATE_SCHEDULE = `
  select millrace.create_schedule(name => $1, job_type => $2, routing_key => $3, payload => $4::text::jsonb,
    cron => $5, every => make_interval(secs => $6::float8), zone => $7, catch_up => $8, overlap => $9,
    spread => make_interval(secs => $10::float8), priority => $11::integer, max_attempts => $12::integer,
    unique_key => $13, group_key => $14, tick_key => $15, start_by => make_interval(secs => $16::float8)) as created`;

/** Creates a schedule that `readSchedule` has checked. Returns false if one has this name. */
export async function createSchedule(db: Queryable, spec: ScheduleSpec): Promise<boolean> {
  const { schedule, jobType, routingKey, payload, cron, everySeconds, zone, catchUp, overlap } = spec;
  const { spreadSeconds, priority, maxAttempts, uniqueKey, groupKey, tickKey, startBySeconds } = spec;
  const job = [schedule, jobType, routingKey, payload];
  const times = [cron, everySeconds, zone, catchUp, overlap, spreadSeconds];
  const values = [...job, ...times, priority, maxAttempts, uniqueKey, groupKey, tickKey, startBySeconds];
  const { rows } = await db.query<{ created: boolean }>(CREATE_SCHEDULE, values);
  return rows[0]?.created ?? false;
}

/** `declared`: a handler file declares the schedule, so only a deployment deletes it. */
export type DeleteScheduleAnswer = 'deleted' | 'declared' | 'not_found';

const DELETE_SCHEDULE = `select millrace.delete_schedule($1) as answer`;

export async function deleteSchedule(db: Queryable, name: string): Promise<DeleteScheduleAnswer> {
  const { rows } = await db.query<{ answer: DeleteScheduleAnswer }>(DELETE_SCHEDULE, [name]);
  return rows[0]?.answer ?? 'not_found';
}

const PAUSE_SCHEDULE = `select millrace.pause_schedule($1)`;
const RESUME_SCHEDULE = `select millrace.resume_schedule($1)`;

/** Pauses a schedule: it enqueues nothing. Idempotent. */
export async function pauseSchedule(db: Queryable, name: string): Promise<void> {
  await db.query(PAUSE_SCHEDULE, [name]);
}

/** Resumes a schedule, with the ticks after this time. Idempotent. */
export async function resumeSchedule(db: Queryable, name: string): Promise<void> {
  await db.query(RESUME_SCHEDULE, [name]);
}

const RUN_SCHEDULE = `select millrace.run_schedule($1)::text as "jobId"`;

/** Enqueues a job of the schedule now. Returns its id; undefined if the name is unknown. */
export async function runSchedule(db: Queryable, name: string): Promise<string | undefined> {
  const { rows } = await db.query<{ jobId: string | null }>(RUN_SCHEDULE, [name]);
  return rows[0]?.jobId ?? undefined;
}
