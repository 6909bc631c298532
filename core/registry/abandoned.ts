import { MOST_COUNTED } from '../errors.ts';
import type { HandlerAddress } from '../handler/naming.ts';
import type { Queryable } from '../postgres/database.ts';

/** A registered handler that a release removes, and its number of unfinished jobs, counted up to `MOST_COUNTED`. */
export interface Abandoned extends HandlerAddress {
  readonly jobs: number;
}

// Dead letters do not count, because they run only after a redrive: other unfinished jobs wait or are in flight, and
// each of the two has an index.
const FIND_ABANDONED = `
  select h.job_type as "jobType", h.routing_key as "routingKey", u.jobs
    from millrace.handlers h, lateral (
      select count(*)::float8 as jobs from (
        (select from millrace.jobs_live j
           where j.job_type = h.job_type and j.routing_key = h.routing_key and j.due_at is not null limit $2)
        union all
        (select from millrace.jobs_live j
           where j.job_type = h.job_type and j.routing_key = h.routing_key and j.in_flight limit $2)
        limit $2) j) u
    where u.jobs > 0
      and not exists (
        select from jsonb_to_recordset($1::jsonb) as k("jobType" text, "routingKey" text)
          where k."jobType" = h.job_type and k."routingKey" = h.routing_key)
    order by h.job_type, h.routing_key`;

/** Returns the handlers with unfinished jobs that are missing from the given ones. */
export async function findAbandoned(db: Queryable, kept: readonly HandlerAddress[]): Promise<Abandoned[]> {
  const addresses = kept.map(({ jobType, routingKey }) => ({ jobType, routingKey }));
  const { rows } = await db.query<Abandoned>(FIND_ABANDONED, [JSON.stringify(addresses), MOST_COUNTED]);
  return rows;
}
