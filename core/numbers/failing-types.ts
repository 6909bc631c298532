import type { Queryable } from '../postgres/database.ts';

/** A job type whose attempts fail more often than they should. */
export interface FailingType {
  readonly jobType: string;
  /** Attempts of the last hour. */
  readonly failed: number;
  readonly succeeded: number;
}

/** A share of failed attempts says something only about this many attempts, within 10 minutes. */
const FEWEST_ATTEMPTS = 50;
const FAILED_SHARE = 0.2;
/** A job type without a success within an hour fails always after this many attempts. */
const ALWAYS_FAILED = 3;

// A share of the last ten minutes for busy types, and every attempt of the last hour for the others: with the default
// retry policy, a single job fails three times within six minutes.
const FIND_FAILING = `
  with recent as (
    select job_type, coalesce(failed, 0) as failed, coalesce(succeeded, 0) as succeeded,
           at >= millrace.clock() - interval '10 minutes' as late
      from millrace.job_numbers
      where step = 'minute' and at >= millrace.clock() - interval '1 hour' and job_type <> '_all'
  ), sums as (
    select job_type, sum(failed)::float8 as failed, sum(succeeded)::float8 as succeeded,
           coalesce(sum(failed) filter (where late), 0)::float8 as late_failed,
           coalesce(sum(failed + succeeded) filter (where late), 0)::float8 as late_attempts
      from recent group by job_type
  )
  select job_type as "jobType", failed, succeeded from sums
    where failed >= $1 and succeeded = 0 or late_attempts >= $2 and late_failed > $3 * late_attempts
    order by failed desc, job_type`;

/** Returns the job types that fail always, or often and in large numbers; the one with the most failures first. */
export async function findFailing(db: Queryable): Promise<FailingType[]> {
  return (await db.query<FailingType>(FIND_FAILING, [ALWAYS_FAILED, FEWEST_ATTEMPTS, FAILED_SHARE])).rows;
}
