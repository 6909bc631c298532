import type { JobStatus } from '../job.ts';
import type { Queryable } from '../postgres/database.ts';
import { type PinnedFilter, pinnedJson } from './list-dead-letters.ts';

export type RedriveVerdict =
  /** The redrive would move the job. */
  | 'movable'
  /** The job has no registered handler. */
  | 'no_handler'
  /** The message has no job. */
  | 'stray';

/** The number of dead letters with one handler and verdict. */
export interface PreviewedHandler {
  readonly jobType: string | null;
  readonly routingKey: string | null;
  readonly verdict: RedriveVerdict;
  /** Whether its handler is paused, so that redriven jobs wait. */
  readonly paused: boolean;
  readonly jobs: number;
}

const PREVIEW_REDRIVE = `
  with counted as (
    select d.job_type, d.routing_key, d.job_id is null as is_stray, count(*)::integer as jobs
      from millrace.matching_dead_letters($1::jsonb) d group by 1, 2, 3
  )
  select c.job_type as "jobType", c.routing_key as "routingKey",
         case when c.is_stray then 'stray' when h.job_type is null then 'no_handler' else 'movable' end as verdict,
         h.paused_at is not null as paused, c.jobs
    from counted c
    left join millrace.handlers h on h.job_type = c.job_type and h.routing_key = c.routing_key
    order by c.jobs desc, 1, 2`;

/** Returns what a redrive of the filter would and would not move, one row for each handler and verdict. */
export async function previewRedrive(db: Queryable, filter: PinnedFilter): Promise<PreviewedHandler[]> {
  const { rows } = await db.query<PreviewedHandler>(PREVIEW_REDRIVE, [pinnedJson(filter)]);
  return rows;
}

/** The state of a job that a caller selected by id. */
export interface NamedJob {
  readonly id: string;
  /** Status; null when the job does not exist or was pruned. */
  readonly status: JobStatus | null;
  readonly jobType: string | null;
  readonly routingKey: string | null;
  readonly handled: boolean;
}

const READ_NAMED_JOBS = `
  select w.id, j.status, j.job_type as "jobType", j.routing_key as "routingKey", h.job_type is not null as handled
    from unnest($1::bigint[]) with ordinality w(id, position)
    left join lateral (
      select l.status, l.job_type, l.routing_key from millrace.jobs_live l where l.id = w.id
      union all select f.status, f.job_type, f.routing_key from millrace.jobs_finished f where f.id = w.id
      limit 1) j on true
    left join millrace.handlers h on h.job_type = j.job_type and h.routing_key = j.routing_key
    order by w.position`;

/** Returns the states of the jobs with these ids, in order. */
export async function readNamedJobs(db: Queryable, ids: readonly string[]): Promise<NamedJob[]> {
  const { rows } = await db.query<NamedJob>(READ_NAMED_JOBS, [ids]);
  return rows;
}

const FIND_MOVED = `
  select job_id as "jobId" from millrace.dead_letters
    where job_id = any($1::bigint[]) and status = 'redriven' and starts_with(resolution, 'redrive ' || $2 || ' of ')`;

/** Returns the ids of the given jobs that one redrive moved. */
export async function findMoved(db: Queryable, redriveId: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ jobId: string }>(FIND_MOVED, [ids, redriveId]);
  return rows.map(({ jobId }) => jobId);
}
