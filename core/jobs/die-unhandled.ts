import type { HandlerAddress } from '../handler/naming.ts';
import type { Database } from '../postgres/database.ts';

// A loose index scan: one step for each address with waiting jobs, regardless of their number.
const FIND_UNHANDLED = `
  with recursive waiting as (
    (select job_type, routing_key from millrace.jobs_live where due_at is not null
       order by job_type, routing_key limit 1)
    union all
    select n.job_type, n.routing_key from waiting w, lateral (
      select j.job_type, j.routing_key from millrace.jobs_live j
        where j.due_at is not null and (j.job_type, j.routing_key) > (w.job_type, w.routing_key)
        order by j.job_type, j.routing_key limit 1) n
  )
  select w.job_type as "jobType", w.routing_key as "routingKey" from waiting w
    where not exists (select from millrace.handlers h
      where h.job_type = w.job_type and h.routing_key = w.routing_key)`;

/** Returns the addresses that have waiting jobs and no handler. */
export async function findUnhandled(db: Database): Promise<HandlerAddress[]> {
  const { rows } = await db.query<HandlerAddress>(FIND_UNHANDLED);
  return rows;
}

// A deployment may add the handler within hours; a mistyped job type never gets one.
const DIE_UNHANDLED = `
  with overdue as materialized (
    select j.id, format('no handler for %s', concat_ws('.', j.job_type, nullif(j.routing_key, ''))) as reason
      from millrace.jobs_live j
      where j.job_type = $1 and j.routing_key = $2
        and j.due_at < millrace.clock() - make_interval(secs => $3)
        and not exists (select from millrace.handlers h where h.job_type = $1 and h.routing_key = $2)
      order by j.id limit $4
      for update of j skip locked
  )
  select millrace.die(array_agg(id), null, array_agg(reason)) as id
    from overdue having count(*) > 0`;

/** Makes dead letters of jobs that were due for `afterSeconds` without a handler, and returns how many. */
export async function dieUnhandled(db: Database, address: HandlerAddress, afterSeconds: number): Promise<number> {
  const { rowCount } = await db.query(DIE_UNHANDLED, [address.jobType, address.routingKey, afterSeconds, 1000]);
  return rowCount;
}
