import type { HandlerAddress } from '../handler/naming.ts';
import type { Queryable } from '../postgres/database.ts';

/** A registered handler that a release removes, and its number of unfinished jobs. */
export interface Abandoned extends HandlerAddress {
  readonly jobs: number;
}

// Dead letters do not count, because they run only after a redrive.
const FIND_ABANDONED = `
  select h.job_type as "jobType", h.routing_key as "routingKey", count(*)::float8 as jobs
    from millrace.handlers h
    join millrace.jobs_live j using (job_type, routing_key)
    where j.status <> 'dead_letter'
      and not exists (
        select from jsonb_to_recordset($1::jsonb) as k("jobType" text, "routingKey" text)
          where k."jobType" = h.job_type and k."routingKey" = h.routing_key)
    group by h.job_type, h.routing_key
    order by h.job_type, h.routing_key`;

/** Returns the handlers with unfinished jobs that are missing from the given ones. */
export async function findAbandoned(db: Queryable, kept: readonly HandlerAddress[]): Promise<Abandoned[]> {
  const addresses = kept.map(({ jobType, routingKey }) => ({ jobType, routingKey }));
  const { rows } = await db.query<Abandoned>(FIND_ABANDONED, [JSON.stringify(addresses)]);
  return rows;
}
