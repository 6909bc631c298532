import type { Queryable } from '../postgres/database.ts';
import { type PinnedFilter, pinnedJson } from './list-dead-letters.ts';

/** Open dead letters of one kind of error. */
export interface DeadLetterGroup {
  /** Fingerprint of the error; null for dead letters without a known error. */
  readonly fingerprint: string | null;
  readonly jobs: number;
  /** Number of all matching dead letters, in all groups. */
  readonly total: number;
  /** Number of groups. */
  readonly groups: number;
  /** Sorted names of handlers, such as `send_reminder` or `index_record.vector`; the first 100. */
  readonly handlers: readonly string[];
  /** Error of the newest dead letter. */
  readonly lastError: string | null;
  readonly firstDiedAt: Date;
  readonly lastDiedAt: Date;
}

// Errors are long, so the statement reads them only for the groups that it returns. It counts by handler first, because
// finding the distinct handlers of a group would sort all its dead letters.
const GROUP_DEAD_LETTERS = `
  with by_handler as (
    select d.fingerprint, concat_ws('.', d.job_type, nullif(d.routing_key, '')) as handler, count(*) as jobs,
           min(d.died_at) as first_died_at, max(d.died_at) as last_died_at, max(d.id) as newest_id
      from millrace.matching_dead_letters($1::jsonb) d group by d.fingerprint, d.job_type, d.routing_key
  ), counted as (
    select b.fingerprint, sum(b.jobs)::integer as jobs, min(b.first_died_at) as first_died_at,
           max(b.last_died_at) as last_died_at, max(b.newest_id) as newest_id,
           array_agg(distinct b.handler) as handlers
      from by_handler b group by b.fingerprint
  ), largest as (
    select c.*, sum(c.jobs) over ()::integer as total, count(*) over ()::integer as groups
      from counted c order by c.jobs desc, c.last_died_at desc limit $2
  )
  select l.fingerprint, l.jobs, l.total, l.groups, l.handlers[:100] as handlers, n.last_error as "lastError",
         l.first_died_at as "firstDiedAt", l.last_died_at as "lastDiedAt"
    from largest l join millrace.dead_letters n on n.id = l.newest_id
    order by l.jobs desc, l.last_died_at desc`;

/** Returns the groups of the matching dead letters, the largest first. */
export async function groupDeadLetters(db: Queryable, filter: PinnedFilter, limit: number): Promise<DeadLetterGroup[]> {
  const { rows } = await db.query<DeadLetterGroup>(GROUP_DEAD_LETTERS, [pinnedJson(filter), limit]);
  return rows;
}

/** One kind of error with all its fields. */
export interface ShownGroup {
  readonly fingerprint: string;
  readonly lastError: string | null;
  readonly errorStacktrace: string | null;
  readonly firstDiedAt: Date;
  readonly lastDiedAt: Date;
  readonly jobs: number;
  /** Number of dead letters for each of the 100 handlers that have most. */
  readonly handlers: readonly { readonly handler: string; readonly jobs: number }[];
  /** Ids of its jobs, the newest first; excludes strays. */
  readonly samples: readonly string[];
}

const SHOW_GROUP = `
  with meant as materialized (
    select d.id, d.job_id, d.died_at, concat_ws('.', d.job_type, nullif(d.routing_key, '')) as handler
      from millrace.dead_letters d where d.status = 'open' and d.fingerprint = $1
  )
  select n.fingerprint, n.last_error as "lastError", n.error_stacktrace as "errorStacktrace",
         (select min(died_at) from meant) as "firstDiedAt", (select max(died_at) from meant) as "lastDiedAt",
         (select count(*)::integer from meant) as jobs,
         (select jsonb_agg(jsonb_build_object('handler', h.handler, 'jobs', h.jobs) order by h.jobs desc, h.handler)
            from (select handler, count(*) as jobs from meant group by handler
                    order by 2 desc, 1 limit 100) h) as handlers,
         array(select job_id::text from meant where job_id is not null
                 order by died_at desc, id desc limit 3) as samples
    from millrace.dead_letters n where n.id = (select max(id) from meant)`;

/** Returns a group by its whole fingerprint; undefined without an open dead letter. */
export async function showGroup(db: Queryable, fingerprint: string): Promise<ShownGroup | undefined> {
  const { rows } = await db.query<ShownGroup>(SHOW_GROUP, [fingerprint]);
  return rows[0];
}
