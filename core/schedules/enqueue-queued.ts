import type { Database } from '../postgres/database.ts';

// A schedule with the overlap queue-one has at most one queued tick. Jobs are found by their place in an array, as in
// promote.ts.
const ENQUEUE_QUEUED = `
  with next as materialized (
    select q.name, row_number() over (order by q.name) as place,
           sum(pg_column_size(q.payload)) over (order by q.name) as bytes
      from (select name, payload from millrace.schedules
              where queued_tick_at is not null and name > $1 order by name limit $2) q
  ), looked as materialized (
    select name from next where place = 1 or bytes <= $3
  ), free as materialized (
    select s.*, row_number() over (order by s.name) as position
      from looked l cross join lateral (select * from millrace.schedules k
        where k.name = l.name and k.queued_tick_at is not null and k.paused_at is null
          and not millrace.is_busy(k.name) for update skip locked) s
  ), made as materialized (
    select array_agg(e.id order by e.position) as ids, array_agg(e.deduplicated order by e.position) as deduplicated
      from millrace.enqueue_many((
        select coalesce(jsonb_agg(jsonb_build_object('job_type', f.job_type, 'routing_key', f.routing_key,
            'payload', millrace.tick_payload(f.payload, f.tick_key, f.queued_tick_at), 'priority', f.priority,
            'max_attempts', f.max_attempts, 'unique_key', f.unique_key, 'group_key', f.group_key,
            'run_at', millrace.spread_tick(f.name, f.spread_seconds, f.queued_tick_at)) order by f.position), '[]')
          from free f)) e
  ), ticked as (
    update millrace.schedule_ticks t
      set job_id = m.ids[f.position],
          result = case when m.deduplicated[f.position] then 'deduplicated' else 'enqueued' end
      from free f cross join made m
      where t.schedule = f.name and t.tick_at = f.queued_tick_at
  ), cleared as (
    update millrace.schedules s set queued_tick_at = null, version = s.version + 1
      from free f where s.name = f.name
  )
  select (select count(*)::integer from free) as count,
         (select case when count(*) = $2 or count(*) < (select count(*) from next) then max(name) else '' end
            from looked) as position`;

/**
 * Enqueues the queued ticks whose schedule has no unfinished job any more. Returns their number, and the position of
 * the next call. `schedules` and `bytes` of their payloads limit what one call reads.
 */
export async function enqueueQueued(
  db: Pick<Database, 'keyed'>,
  position: string,
  { schedules, bytes }: { readonly schedules: number; readonly bytes: number },
) {
  type Row = { count: number; position: string };
  const { rows } = await db.keyed.query<Row>(ENQUEUE_QUEUED, [position, schedules, bytes]);
  return rows[0] ?? { count: 0, position: '' };
}
