import type { JobStatus } from '../job.ts';
import { isEveryJob, jobFilterJson, type PinnedJobFilter } from '../look/job-filter.ts';
import type { Queryable } from '../postgres/database.ts';
import type { JobChange, OperationAction } from './operation.ts';

/** Jobs with one status and handler. */
export interface MatchedJobs {
  readonly status: JobStatus;
  readonly jobType: string;
  readonly routingKey: string;
  readonly jobs: number;
}

/** What an operation would change. */
export interface OperationPreview {
  /** Number of matching jobs; of those that were counted, if `complete` is false. */
  readonly matched: number;
  /** Whether all jobs were counted in the time of a dry run. */
  readonly complete: boolean;
  /**
   * Jobs that arrive or change later are not touched, if the operation gets this time: ISO 8601 with microseconds,
   * because a job that was enqueued less than a millisecond before must be one of them.
   */
  readonly asOf: string;
  /** Ordered by number, the largest first. */
  readonly groups: readonly MatchedJobs[];
}

const BEGIN_COUNT = `
  select to_char(coalesce($1::timestamptz, millrace.clock()) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
           as "asOf",
         case when $1 > millrace.clock() then 'as_of: expected a time that has passed, such as that of a dry run'
              else millrace.job_filter_fault($2, $3::jsonb) end as fault,
         (select case when is_called then last_value else 0 end from millrace.job_ids)::text as "untilId"`;
const COUNT_PART = `
  select looked, last_id::text as "lastId", counts from millrace.count_jobs_by_filter($1, $2::jsonb, $3, $4, $5, $6)`;
/** Jobs that one statement of a dry run examines. */
const PART = 10_000;

type Part = { looked: number; lastId: string | null; counts: CountedPart[] };
type CountedPart = { status: JobStatus; job_type: string; routing_key: string; jobs: number };

export interface OperationPlan {
  readonly action: OperationAction;
  readonly filter: PinnedJobFilter;
  /** The largest number of jobs to change. */
  readonly limit?: number | undefined;
  /** The time of a dry run, in ISO 8601; default: now. */
  readonly asOf?: string | undefined;
}

/** Counts what an operation would change, in parts, for at most `longestMs`. Throws for a filter that is refused. */
export async function previewOperation(
  db: Queryable,
  { action, filter, limit, asOf: given }: OperationPlan,
  longestMs: number,
): Promise<OperationPreview> {
  const end = performance.now() + longestMs;
  const json = planJson(filter, limit);
  const { rows } = await db.query<{ asOf: string; fault: string | null; untilId: string }>(BEGIN_COUNT, [
    ...[given ?? null, action, json],
  ]);
  const [{ asOf, fault, untilId } = { asOf: '', fault: null, untilId: '0' }] = rows;
  if (fault !== null) throw new RangeError(fault);
  const groups = new Map<string, MatchedJobs>();
  let complete = false;
  for (let after = '0'; !complete && performance.now() < end; ) {
    const values = [action, json, asOf, after, untilId, PART];
    const part = (await db.query<Part>(COUNT_PART, values)).rows[0];
    for (const one of part?.counts ?? []) add(groups, one);
    complete = (part?.looked ?? 0) < PART;
    after = part?.lastId ?? after;
  }
  const sorted = [...groups.values()].sort((one, other) => other.jobs - one.jobs);
  const all = sorted.reduce((sum, { jobs }) => sum + jobs, 0);
  return { matched: Math.min(all, limit ?? all), complete, asOf, groups: sorted };
}

function add(groups: Map<string, MatchedJobs>, { status, job_type, routing_key, jobs }: CountedPart): void {
  const key = `${status} ${job_type} ${routing_key}`;
  groups.set(key, { status, jobType: job_type, routingKey: routing_key, jobs: jobs + (groups.get(key)?.jobs ?? 0) });
}

export interface OperationStart extends OperationPlan {
  readonly change?: JobChange | undefined;
  readonly reason?: string | undefined;
  /** Jobs a second. */
  readonly rate?: number | undefined;
  /** Number of jobs that a dry run counted. */
  readonly expected?: number | undefined;
}

const START_OPERATION = `
  select millrace.start_operation($1, $2::jsonb, $3, $4::jsonb, $5, $6, $7) as id`;

/** Starts an operation, and returns its id. The dispatcher changes the jobs. */
export async function startOperation(db: Queryable, start: OperationStart): Promise<string> {
  const { action, filter, limit, change, reason = null, asOf, rate = null, expected = null } = start;
  const { rows } = await db.query<{ id: string }>(START_OPERATION, [
    ...[action, planJson(filter, limit), reason, change === undefined ? null : JSON.stringify(change)],
    ...[asOf ?? null, rate, expected],
  ]);
  return String(rows[0]?.id);
}

/** The caller has confirmed that an empty filter means every job. */
function planJson(filter: PinnedJobFilter, limit: number | undefined): string {
  return jobFilterJson(filter, isEveryJob(filter) ? { all: true, limit } : { limit });
}
