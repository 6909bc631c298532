import type { HandlerAddress } from '../handler/naming.ts';
import type { Database } from '../postgres/database.ts';

// A loose index scan: one step for each address that waits, however many jobs it has.
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

/** Addresses that jobs wait for and no handler has. */
export async function findUnhandled(db: Database): Promise<HandlerAddress[]> {
  const { rows } = await db.query<HandlerAddress>(FIND_UNHANDLED);
  return rows;
}

// A deploy may bring the handler within hours; a typing error never will.
const BURY_UNHANDLED = `
  with overdue as materialized (
    select j.id, j.claim_no, j.job_type, j.routing_key, j.attempts,
           format('no handler for %s', concat_ws('.', j.job_type, nullif(j.routing_key, ''))) as reason
      from millrace.jobs_live j
      where j.job_type = $1 and j.routing_key = $2
        and j.due_at < millrace.clock() - make_interval(secs => $3)
        and not exists (select from millrace.handlers h where h.job_type = $1 and h.routing_key = $2)
      order by j.id limit $4
      for update of j skip locked
  ), buried as (
    update millrace.jobs_live j
      set status = 'dead_letter', last_error = o.reason, next_retry_at = null, updated_at = millrace.clock()
      from overdue o where j.id = o.id
  ), dead as (
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint)
      select o.id, o.claim_no, o.job_type, o.routing_key, o.reason, md5(o.reason) from overdue o
      on conflict (job_id) where status = 'open' do nothing
  ), counted as (
    -- No attempt failed, but the job did: what is dead has failed, or the sums over the counters do not hold.
    insert into millrace.job_events (event, job_type, status, count)
      select d.event, o.job_type, 'dead_letter', count(*)
        from overdue o, (values ('failed'), ('dead_lettered')) as d(event)
        group by d.event, o.job_type
  )
  select id from overdue`;

/** Declares jobs dead that were due for `afterSeconds` while nobody handled them; answers how many. */
export async function buryUnhandled(db: Database, address: HandlerAddress, afterSeconds: number): Promise<number> {
  const { rowCount } = await db.query(BURY_UNHANDLED, [address.jobType, address.routingKey, afterSeconds, 1000]);
  return rowCount;
}
