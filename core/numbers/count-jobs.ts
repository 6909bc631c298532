import type { Database } from '../postgres/database.ts';

// Replaces a table of few rows as a whole.
const COUNT_JOBS = `
  with counted as (
    select status, job_type, routing_key, count(*) as count, count(*) filter (where due_at <= millrace.clock()) as due
      from millrace.jobs_live group by status, job_type, routing_key
  ), gone as (
    delete from millrace.job_counts c
      where not exists (select from counted n
        where n.status = c.status and n.job_type = c.job_type and n.routing_key = c.routing_key)
  ), kept as (
    insert into millrace.job_counts as c (status, job_type, routing_key, count)
      select status, job_type, routing_key, count from counted order by status, job_type, routing_key
      on conflict (status, job_type, routing_key) do update set count = excluded.count, counted_at = millrace.clock()
  )
  select job_type as "jobType", sum(due)::float8 as due from counted group by job_type order by job_type`;

/** Counts and stores the unfinished jobs for later readers, and returns how many are due. Reads the whole table. */
export async function countJobs(db: Database): Promise<{ readonly jobType: string; readonly due: number }[]> {
  const { rows } = await db.query<{ jobType: string; due: number }>(COUNT_JOBS);
  return rows;
}
