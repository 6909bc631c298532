import type { Queryable } from '../postgres/database.ts';
import type { UpkeepPart } from './run-upkeep.ts';

const PRUNE_SLOT = `select millrace.prune_slot($1::smallint, make_interval(secs => $2)) as pruned`;
const SLOTS = 32;

/** Empties the daily partitions of finished jobs that are older than the retention; `rows` is their number. */
export async function pruneFinished(db: Queryable, retentionSeconds: number): Promise<UpkeepPart> {
  let pruned = 0;
  for (let slot = 1; slot <= SLOTS; slot++) {
    const { rows } = await db.query<{ pruned: boolean }>(PRUNE_SLOT, [slot, retentionSeconds]);
    if (rows[0]?.pruned) pruned++;
  }
  return { position: null, rows: pruned };
}

/** Rows that one part of a prune checks: few enough to take milliseconds. */
const BATCH = 5000;
const DAY = 86_400;

// Each statement checks the next rows in the order of the key, which is the order of time, and continues there. It ends
// a pass at the first row that is too young, so its cost depends neither on the rows that it keeps nor on statistics.
// Rows from the future were written while the clock was ahead: younger and older ones follow.
// Parameters: position, retention in seconds, number of rows.
const PRUNE_ATTEMPTS = `
  with looked as materialized (
    select a.id, a.finished_at < millrace.clock() - make_interval(secs => $2) as old,
           a.finished_at > millrace.clock() as future
      from millrace.job_attempts a where a.id > coalesce($1::bigint, 0) order by a.id limit $3
  ), gone as (
    delete from millrace.job_attempts a where a.id = any(array(select id from looked where old))
      and (a.finished_at < millrace.clock() - interval '90 days'
        or not exists (select from millrace.jobs_live j where j.id = a.job_id))
      returning 1
  )
  select (select count(*)::integer from gone) as rows,
         case when count(*) = $3 and bool_and(old or future) then max(id)::text end as position from looked`;
const PRUNE_DISPATCHES = `
  with looked as materialized (
    select d.claim_no, d.claimed_at < millrace.clock() - make_interval(secs => $2) as old,
           d.claimed_at > millrace.clock() as future
      from millrace.dispatches d where d.claim_no > coalesce($1::bigint, 0) order by d.claim_no limit $3
  ), gone as (
    delete from millrace.dispatches d where d.claim_no = any(array(select claim_no from looked where old))
      and (d.sent_at is not null or d.released_at is not null)
      returning 1
  )
  select (select count(*)::integer from gone) as rows,
         case when count(*) = $3 and bool_and(old or future) then max(claim_no)::text end as position from looked`;
const PRUNE_DEAD_LETTERS = `
  with looked as materialized (
    select d.id, d.died_at < millrace.clock() - make_interval(secs => $2) as old,
           d.died_at > millrace.clock() as future
      from millrace.dead_letters d where d.id > coalesce($1::bigint, 0) order by d.id limit $3
  ), gone as (
    delete from millrace.dead_letters d where d.id = any(array(select id from looked where old))
      and d.status <> 'open' and d.resolved_at < millrace.clock() - make_interval(secs => $2)
      returning 1
  )
  select (select count(*)::integer from gone) as rows,
         case when count(*) = $3 and bool_and(old or future) then max(id)::text end as position from looked`;
const PRUNE_AUDIT = `
  with looked as materialized (
    select l.id, l.at < millrace.clock() - make_interval(secs => $2) as old,
           l.at > millrace.clock() as future
      from millrace.audit_log l where l.id > coalesce($1::bigint, 0) order by l.id limit $3
  ), gone as (
    delete from millrace.audit_log l where l.id = any(array(select id from looked where old)) returning 1
  )
  select (select count(*)::integer from gone) as rows,
         case when count(*) = $3 and bool_and(old or future) then max(id)::text end as position from looked`;
const PRUNE_OPERATIONS = `
  with looked as materialized (
    select o.id, o.created_at < millrace.clock() - make_interval(secs => $2) as old,
           o.created_at > millrace.clock() as future
      from millrace.operations o where o.id > coalesce($1::bigint, 0) order by o.id limit $3
  ), gone as (
    delete from millrace.operations o where o.id = any(array(select id from looked where old))
      and o.status in ('done', 'cancelled')
      and coalesce(o.finished_at, o.updated_at) < millrace.clock() - make_interval(secs => $2)
      returning 1
  )
  select (select count(*)::integer from gone) as rows,
         case when count(*) = $3 and bool_and(old or future) then max(id)::text end as position from looked`;

// There are few keys, so a pass checks all of them. A key stays as long as one that it created: revoking a key with
// those that it created follows these rows.
const PRUNE_API_KEYS = `
  with looked as materialized (
    select k.id, coalesce(k.revoked_at, k.expires_at) < millrace.clock() - make_interval(secs => $2) as old
      from millrace.api_keys k where k.id > coalesce($1::bigint, 0) order by k.id limit $3
  ), gone as (
    delete from millrace.api_keys k where k.id = any(array(select id from looked where old))
        and not exists (select from millrace.api_keys c where c.made_by = k.id)
      returning 1
  )
  select (select count(*)::integer from gone) as rows, case when count(*) = $3 then max(id)::text end as position
    from looked`;

// The keys of these tables are not in the order of time, so each has an index on its time.
const PRUNE_IDEMPOTENCY_KEYS = `
  with gone as (
    delete from millrace.idempotency_keys k where k.ctid = any(array(
      select l.ctid from millrace.idempotency_keys l
        where l.created_at < millrace.clock() - make_interval(secs => $2) order by l.created_at limit $3))
      returning 1
  )
  select count(*)::integer as rows, case when count(*) = $3 then coalesce($1::text, '') end as position from gone`;
// The overlap of a schedule depends on the ticks of its unfinished jobs.
const PRUNE_SCHEDULE_TICKS = `
  with gone as (
    delete from millrace.schedule_ticks t where t.ctid = any(array(
      select u.ctid from millrace.schedule_ticks u
        where u.created_at < millrace.clock() - make_interval(secs => $2)
          and not exists (select from millrace.jobs_live j where j.id = u.job_id and j.status <> 'dead_letter')
        order by u.created_at limit $3))
      returning 1
  )
  select count(*)::integer as rows, case when count(*) = $3 then coalesce($1::text, '') end as position from gone`;
const PRUNE_JOINS = `
  with gone as (
    delete from millrace.job_joins g where g.job_id = any(array(
      select j.job_id from millrace.job_joins j
        where j.ended_at < millrace.clock() - make_interval(secs => $2) order by j.ended_at limit $3))
      returning 1
  )
  select count(*)::integer as rows, case when count(*) = $3 then coalesce($1::text, '') end as position from gone`;
// A pass checks all keys, in their order. An enqueue may give a key that has ended to another job meanwhile, and its
// transaction may last, so locked keys are skipped. The key of an unfinished job stays: the job may become pending
// again, and then holds it again.
const PRUNE_UNIQUE_KEYS = `
  with looked as materialized (
    select k.job_type, k.routing_key, k.unique_key, k.job_id,
           not millrace.holds_key(k.job_id, k.until, k.ends_at) and (coalesce(k.ends_at <= millrace.clock(), false)
             or not exists (select from millrace.jobs_live j where j.id = k.job_id)) as ended
      from millrace.unique_keys k
      where (k.job_type, k.routing_key, k.unique_key)
        > (coalesce($1::jsonb ->> 0, ''), coalesce($1::jsonb ->> 1, ''), coalesce($1::jsonb ->> 2, ''))
      order by k.job_type, k.routing_key, k.unique_key limit $3
  ), free as materialized (
    select k.job_type, k.routing_key, k.unique_key, k.job_id from looked l
      cross join lateral (select * from millrace.unique_keys u
        where u.job_type = l.job_type and u.routing_key = l.routing_key and u.unique_key = l.unique_key
          and u.job_id = l.job_id for update skip locked) k
      where l.ended
  ), gone as (
    delete from millrace.unique_keys k using free f
      where k.job_type = f.job_type and k.routing_key = f.routing_key and k.unique_key = f.unique_key
        and k.job_id = f.job_id
      returning 1
  )
  select (select count(*)::integer from gone) as rows,
         case when (select count(*) from looked) = $3 then (
           select jsonb_build_array(l.job_type, l.routing_key, l.unique_key)::text from looked l
             order by l.job_type desc, l.routing_key desc, l.unique_key desc limit 1) end as position
    where $2::float8 is not null`;
// A graph of a day or of 31 days begins in the middle of its first point, so rows are kept for a little longer.
const PRUNE_SERIES = `
  with gone as (
    delete from millrace.job_numbers n where n.ctid = any(array(
      (select o.ctid from millrace.job_numbers o
         where o.step = 'minute' and o.at < millrace.clock() - interval '25 hours' order by o.at limit $3)
      union all (select o.ctid from millrace.job_numbers o
         where o.step = 'hour' and o.at < millrace.clock() - make_interval(secs => $2) order by o.at limit $3)))
      returning 1
  )
  select count(*)::integer as rows, case when count(*) >= $3 then coalesce($1::text, '') end as position from gone`;

/** Returns a prune that deletes the rows of one table after `retentionSeconds`, a batch in each part. */
function prune(text: string, retentionSeconds: number) {
  return async (db: Queryable, position: string | null): Promise<UpkeepPart> => {
    const { rows } = await db.query<UpkeepPart>(text, [position, retentionSeconds, BATCH]);
    return rows[0] ?? { position: null, rows: 0 };
  };
}

/** Returns the prune of each table of history. Attempts and joins have the retention of finished jobs. */
export function historyPrunes(retentionSeconds: number) {
  return {
    attempts: prune(PRUNE_ATTEMPTS, retentionSeconds),
    joins: prune(PRUNE_JOINS, retentionSeconds),
    dispatches: prune(PRUNE_DISPATCHES, DAY),
    dead_letters: prune(PRUNE_DEAD_LETTERS, 90 * DAY),
    audit: prune(PRUNE_AUDIT, 400 * DAY),
    operations: prune(PRUNE_OPERATIONS, 90 * DAY),
    api_keys: prune(PRUNE_API_KEYS, 400 * DAY),
    idempotency_keys: prune(PRUNE_IDEMPOTENCY_KEYS, DAY),
    schedule_ticks: prune(PRUNE_SCHEDULE_TICKS, 90 * DAY),
    unique_keys: prune(PRUNE_UNIQUE_KEYS, DAY),
    series: prune(PRUNE_SERIES, 31 * DAY + 2 * 3600),
  };
}
