import { type JobStatus, LARGEST_ID } from '../job.ts';
import type { Queryable } from '../postgres/database.ts';
import { type JobFilter, jobFilterJson, type PinnedJobFilter, pinJobTimes } from './job-filter.ts';
import { type PageWish, readWindows } from './windows.ts';

/** A job in a list, without its payload and result, which can be a megabyte each. */
export interface ListedJob {
  readonly id: string;
  readonly jobType: string;
  readonly routingKey: string;
  readonly status: JobStatus;
  readonly priority: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly runAt: Date;
  /** Latest start of the first attempt; null without one, and after an attempt that counts. */
  readonly startBy: Date | null;
  readonly nextRetryAt: Date | null;
  /** Time from which it is due; null unless it waits. */
  readonly dueAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly uniqueKey: string | null;
  readonly groupKey: string | null;
  readonly lastError: string | null;
}

export interface JobPage {
  readonly jobs: readonly ListedJob[];
  /** Value of `before` for the next page; undefined on the last page. */
  readonly next: string | undefined;
}

// $1 selects one of four branches, and the planner skips the others. Each rare status has an index, so that the scan
// does not read millions of other rows; jobs in flight are few, so they are sorted.
const FIND_PAGE = `
  select id, slot from (
    (select * from millrace.jobs_live
       where $1 = 'dead' and due_at is null and not in_flight and id < $2 order by id desc limit $3)
    union all
    (select * from millrace.jobs_live
       where $1 = 'failed' and next_retry_at is not null and id < $2 order by id desc limit $3)
    union all
    (select * from (select * from millrace.jobs_live where $1 = 'in_flight' and in_flight offset 0) f
       where id < $2 order by id desc limit $3)
    union all
    (select * from millrace.jobs
       where $1 = 'any' and slot = any($4::smallint[]) and id < $2 order by id desc limit $3)
  ) j
    where millrace.job_matches($5::jsonb, id, status, job_type, routing_key, unique_key, group_key, last_error,
      created_at, attempts, payload)
    order by id desc limit $6`;

/** Finds the id of the last row of a window; no row if the table ends before it. */
const FIND_END = `
  select id from (
    (select id from millrace.jobs_live
       where $1 = 'dead' and due_at is null and not in_flight and id < $2 order by id desc offset $3 - 1 limit 1)
    union all
    (select id from millrace.jobs_live
       where $1 = 'failed' and next_retry_at is not null and id < $2 order by id desc offset $3 - 1 limit 1)
    union all
    (select id from (select id from millrace.jobs_live where $1 = 'in_flight' and in_flight offset 0) f
       where id < $2 order by id desc offset $3 - 1 limit 1)
    union all
    (select id from millrace.jobs
       where $1 = 'any' and slot = any($4::smallint[]) and id < $2 order by id desc offset $3 - 1 limit 1)
  ) j`;

const READ_PAGE = `
  select id, job_type as "jobType", routing_key as "routingKey", status, priority, attempts,
         max_attempts as "maxAttempts", run_at as "runAt", start_by as "startBy", next_retry_at as "nextRetryAt",
         -- No time is known while a job waits for children.
         nullif(due_at, timestamptz '9999-12-31 00:00:00+00') as "dueAt",
         created_at as "createdAt", updated_at as "updatedAt", started_at as "startedAt", finished_at as "finishedAt",
         unique_key as "uniqueKey", group_key as "groupKey", last_error as "lastError"
    from millrace.jobs where slot = any($1::smallint[]) and id = any($2::bigint[]) order by id desc`;

const FINISHED: readonly JobStatus[] = ['succeeded', 'skipped', 'cancelled'];
const FINISHED_SLOTS = Array.from({ length: 32 }, (_, index) => index + 1);

/** Returns a page of the jobs that match the filter, the newest first. */
export async function pageJobs(db: Queryable, filter: PinnedJobFilter, wish: PageWish): Promise<JobPage> {
  const { statuses } = filter;
  const json = jobFilterJson(filter);
  const { rows: shown, next } = await readWindows(wish, async ({ before = String(LARGEST_ID), rows, most }) => {
    const walk = [wayTo(statuses), before, rows, slotsOf(statuses)];
    const found = await db.query<{ id: string; slot: number }>(FIND_PAGE, [...walk, json, most]);
    // Read only if the window does not fill the page: most pages are filled by the first window.
    const end = async () => (await db.query<{ id: string }>(FIND_END, walk)).rows[0]?.id;
    return { matches: found.rows, end };
  });
  return { jobs: await readPage(db, shown), next };
}

/** Reads pages and returns the newest jobs that match, up to `limit`. */
export async function listJobs(db: Queryable, filter: JobFilter, limit: number): Promise<ListedJob[]> {
  const pinned = await pinJobTimes(db, filter);
  const found: ListedJob[] = [];
  let before: string | undefined;
  do {
    const page = await pageJobs(db, pinned, { before, limit: limit - found.length });
    found.push(...page.jobs);
    before = page.next;
  } while (before !== undefined && found.length < limit);
  return found;
}

/** Returns one job in the form of a page; undefined if it is deleted. Looks first where unfinished jobs are. */
export async function readListedJob(db: Queryable, id: string): Promise<ListedJob | undefined> {
  for (const slots of [[0], FINISHED_SLOTS]) {
    const { rows } = await db.query<ListedJob>(READ_PAGE, [slots, [id]]);
    if (rows[0] !== undefined) return rows[0];
  }
  return undefined;
}

async function readPage(db: Queryable, found: readonly { id: string; slot: number }[]): Promise<ListedJob[]> {
  if (found.length === 0) return [];
  const slots = [...new Set(found.map(({ slot }) => slot))];
  const { rows } = await db.query<ListedJob>(READ_PAGE, [slots, found.map(({ id }) => id)]);
  return rows;
}

function wayTo(statuses: readonly JobStatus[]): 'dead' | 'failed' | 'in_flight' | 'any' {
  const only = (...some: JobStatus[]) => statuses.length > 0 && statuses.every((status) => some.includes(status));
  if (only('dead_letter')) return 'dead';
  if (only('failed')) return 'failed';
  return only('dispatched', 'running') ? 'in_flight' : 'any';
}

function slotsOf(statuses: readonly JobStatus[]): number[] {
  const all = statuses.length === 0;
  const live = all || statuses.some((status) => !FINISHED.includes(status));
  const finished = all || statuses.some((status) => FINISHED.includes(status));
  return [...(live ? [0] : []), ...(finished ? FINISHED_SLOTS : [])];
}
