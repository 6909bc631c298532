import type { Queryable } from '../postgres/database.ts';
import type { Part } from '../postgres/step.ts';
import { MOST_UNHANDLED, OTHERS } from './live-counts.ts';

/** Jobs that one part of the count reads, which takes about a tenth of a second. */
const MOST = 100_000;

// Counts the next jobs in the order of their ids, which never change, so that a pass counts each job at most once. Jobs
// without a handler have the routing key `*`, and few of their job types are named: those that the table already has,
// and as many others as there is room for.
const COUNT_SOME_JOBS = `
  with looked as materialized (
    select id, status, job_type, routing_key, due_at <= millrace.clock() as due
      from millrace.jobs_live where id > coalesce($1::bigint, 0) order by id limit $2
  ), counted as materialized (
    select status, job_type, routing_key, count(*) as count, count(*) filter (where due) as due
      from looked group by status, job_type, routing_key
  ), known as materialized (
    select job_type from millrace.handlers
    union select job_type from millrace.job_counts
  ), others as (
    select count(*) as count from known
      where job_type <> $3 and job_type not in (select job_type from millrace.handlers)
  ), named as materialized (
    select job_type from known
    union all
    (select distinct job_type from counted where job_type not in (select job_type from known)
       order by job_type limit greatest(0, $4 - (select count from others)))
  ), placed as (
    select c.status, c.count, c.due,
           case when c.job_type in (select job_type from named) then c.job_type else $3 end as job_type,
           case when (c.job_type, c.routing_key) in (select job_type, routing_key from millrace.handlers)
             then c.routing_key else '*' end as routing_key
      from counted c
  ), added as (
    insert into millrace.job_counts as c (status, job_type, routing_key, next_count, next_due)
      select status, job_type, routing_key, sum(count), sum(due) from placed
        group by status, job_type, routing_key order by status, job_type, routing_key
      on conflict (status, job_type, routing_key) do update
        set next_count = c.next_count + excluded.next_count, next_due = c.next_due + excluded.next_due
  )
  select count(*)::integer as rows, case when count(*) = $2 then max(id)::text end as position from looked`;
const FORGET_GONE_COUNTS = `delete from millrace.job_counts where next_count = 0`;
const PUBLISH_COUNTS = `
  update millrace.job_counts
    set count = next_count, due = next_due, next_count = 0, next_due = 0, counted_at = millrace.clock()`;

/** Counts the next part of the unfinished jobs, and replaces the stored counts at the end of a pass. */
export async function countJobs(tx: Queryable, position: string | null): Promise<Part & { readonly rows: number }> {
  const { rows } = await tx.query<Part & { rows: number }>(COUNT_SOME_JOBS, [position, MOST, OTHERS, MOST_UNHANDLED]);
  const part = rows[0] ?? { position: null, rows: 0 };
  if (part.position === null) {
    await tx.query(FORGET_GONE_COUNTS);
    await tx.query(PUBLISH_COUNTS);
  }
  return part;
}

// Only types with a handler: a producer with a mistyped job type must not create a metric for each name.
const READ_DUE_JOBS = `
  select c.job_type as "jobType", sum(c.due)::float8 as due from millrace.job_counts c
    where c.count > 0 and exists (select from millrace.handlers h where h.job_type = c.job_type)
    group by c.job_type order by c.job_type`;

/** Returns the number of due jobs of each type with a handler, as counted last. */
export async function readDueJobs(db: Queryable): Promise<{ readonly jobType: string; readonly due: number }[]> {
  const { rows } = await db.query<{ jobType: string; due: number }>(READ_DUE_JOBS);
  return rows;
}
