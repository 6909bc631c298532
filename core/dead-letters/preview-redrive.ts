import type { JobStatus } from '../job.ts';
import { OTHERS } from '../numbers/live-counts.ts';
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

/** Addresses without a handler, and queues of strays, that a preview names: a producer chooses the job types. */
const MOST_NAMED = 100;

const PREVIEW_REDRIVE = `
  with counted as (
    select d.job_type, d.routing_key, d.job_id is null as is_stray, count(*)::integer as jobs
      from millrace.matching_dead_letters($1::jsonb) d group by 1, 2, 3
  ), judged as (
    select c.job_type, c.routing_key, h.paused_at is not null as paused, c.jobs,
           case when c.is_stray then 'stray' when h.job_type is null then 'no_handler' else 'movable' end as verdict
      from counted c
      left join millrace.handlers h on h.job_type = c.job_type and h.routing_key = c.routing_key
  ), placed as (
    select j.*, j.verdict = 'movable'
             or row_number() over (partition by verdict order by jobs desc, job_type, routing_key) <= $2 as named
      from judged j
  )
  select case when named then job_type else $3 end as "jobType", case when named then routing_key else '' end
           as "routingKey", verdict, paused, sum(jobs)::integer as jobs
    from placed group by 1, 2, 3, 4 order by 5 desc, 1, 2`;

/**
 * Returns what a redrive of the filter would and would not move, one row for each handler and verdict. Adds up what has
 * no handler beyond 100 rows under `_other`.
 */
export async function previewRedrive(db: Queryable, filter: PinnedFilter): Promise<PreviewedHandler[]> {
  const { rows } = await db.query<PreviewedHandler>(PREVIEW_REDRIVE, [pinnedJson(filter), MOST_NAMED, OTHERS]);
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
