import type { HandlerAddress } from '../handler/naming.ts';
import type { Queryable } from '../postgres/database.ts';
import type { Part } from '../postgres/step.ts';

// A loose index scan: one step for each address with waiting jobs, regardless of their number. The number of addresses
// is limited, because any producer may insert any number of job types.
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
  select w.job_type as "jobType", w.routing_key as "routingKey"
    from (select job_type, routing_key from waiting limit 10000) w
    where not exists (select from millrace.handlers h
      where h.job_type = w.job_type and h.routing_key = w.routing_key)
    limit 100`;

/** Returns the first hundred addresses that have waiting jobs and no handler. */
export async function findUnhandled(db: Queryable): Promise<HandlerAddress[]> {
  const { rows } = await db.query<HandlerAddress>(FIND_UNHANDLED);
  return rows;
}

/** An address with waiting jobs and no handler. */
export interface UnhandledAddress extends HandlerAddress {
  /** Number of its jobs that became dead letters. */
  readonly died: number;
}

export interface UnhandledPart extends Part {
  readonly unhandled: readonly UnhandledAddress[];
}

export interface UnhandledLimits {
  /** How long a job waits for a handler, in seconds: after it was due, enqueued and the handler was removed. */
  readonly afterSeconds: number;
  /** Addresses that one part checks. */
  readonly addresses: number;
  /** Jobs that die in one part, and jobs of one address and priority that it checks. */
  readonly jobs: number;
}

// The same loose scan begins after the address of the last part and ends after a number of them. A deployment may add
// the handler within hours; a mistyped job type never gets one.
const DIE_UNHANDLED = `
  with recursive waiting as (
    (select job_type, routing_key from millrace.jobs_live
       where due_at is not null and (job_type, routing_key) > ($1, $2)
       order by job_type, routing_key limit 1)
    union all
    select n.job_type, n.routing_key from waiting w, lateral (
      select j.job_type, j.routing_key from millrace.jobs_live j
        where j.due_at is not null and (j.job_type, j.routing_key) > (w.job_type, w.routing_key)
        order by j.job_type, j.routing_key limit 1) n
  ), looked as materialized (
    select job_type, routing_key from waiting limit $3
  ), unhandled as materialized (
    select l.job_type, l.routing_key, r.removed_at from looked l
      left join millrace.removed_handlers r on r.job_type = l.job_type and r.routing_key = l.routing_key
      where not exists (select from millrace.handlers h
        where h.job_type = l.job_type and h.routing_key = l.routing_key)
  ), overdue as materialized (
    -- Locked rows are skipped here, because those of one transaction would hide all others.
    select o.id, o.job_type, o.routing_key,
           format('no handler for %s', concat_ws('.', o.job_type, nullif(o.routing_key, ''))) as reason
      from unhandled u, generate_series(0, 9) p(priority), lateral (
        select j.id, j.job_type, j.routing_key, j.created_at from millrace.jobs_live j
          where j.job_type = u.job_type and j.routing_key = u.routing_key and j.priority = p.priority::smallint
            and j.due_at is not null and j.due_at < millrace.clock() - make_interval(secs => $4)
          order by j.due_at limit $5 for update of j skip locked) o
      where greatest(o.created_at, u.removed_at) < millrace.clock() - make_interval(secs => $4)
        and not exists (select from millrace.handlers h
          where h.job_type = o.job_type and h.routing_key = o.routing_key)
      limit $5
  ), died as materialized (
    select d.id from (
      select array_agg(id order by id) as ids, array_agg(reason order by id) as reasons
        from overdue having count(*) > 0) o,
      lateral millrace.die(o.ids, null, o.reasons) as d(id)
  )
  select last.job_type as "lastJobType", last.routing_key as "lastRoutingKey",
         (select count(*) from looked) = $3 as more,
         coalesce((select jsonb_agg(jsonb_build_object('jobType', u.job_type, 'routingKey', u.routing_key, 'died',
             (select count(*) from died d join overdue o on o.id = d.id
                where o.job_type = u.job_type and o.routing_key = u.routing_key))
           order by u.job_type, u.routing_key) from unhandled u), '[]') as unhandled
    from (select job_type, routing_key from looked order by job_type desc, routing_key desc limit 1) last`;

/**
 * Ends jobs that waited too long for a handler as dead letters, and returns the addresses without one among those that
 * this part checked. The position is an address: the job type and the routing key, separated by a space.
 */
export async function dieUnhandled(
  tx: Queryable,
  position: string | null,
  { afterSeconds, addresses, jobs }: UnhandledLimits,
): Promise<UnhandledPart> {
  const [jobType = '', routingKey = ''] = position?.split(' ') ?? [];
  const { rows } = await tx.query<{
    lastJobType: string;
    lastRoutingKey: string;
    more: boolean;
    unhandled: UnhandledAddress[];
  }>(DIE_UNHANDLED, [jobType, routingKey, addresses, afterSeconds, jobs]);
  const [row] = rows;
  if (row === undefined) return { position: null, unhandled: [] };
  return { position: row.more ? `${row.lastJobType} ${row.lastRoutingKey}` : null, unhandled: row.unhandled };
}
