-- What an attempt enqueues with its own success: follow-ups, and children with a job that continues after them.
-- core/jobs/settle.ts calls enqueue_follow_ups; core/jobs/advance-joins.ts calls the rest.

-- A job that waits for others, its children. It is held until each of them has finished: the dispatcher looks for the
-- first child that has not, and continues there in its next round, so that neither the children nor their number costs
-- anything while they run. Kept as long as finished jobs after it has ended.
create table millrace.job_joins (
  -- The job that waits.
  job_id bigint primary key,
  -- The job whose success enqueued it and its children.
  parent_id bigint not null,
  children bigint[] not null,
  -- The number of children, from the first, that have finished.
  finished integer not null default 0,
  -- The next child to look at. A column, because Postgres would decompress the whole array to read one element.
  next_child bigint generated always as (children[finished + 1]) stored,
  -- Whether a dead child counts as finished.
  past_dead boolean not null,
  -- Set by a request to cancel: the children that have not started are cancelled, from the last to the first.
  cancelled_at timestamptz,
  cancelled_by text,
  ended_at timestamptz
);
create index job_joins_parent on millrace.job_joins (parent_id) where ended_at is null;
create index job_joins_open on millrace.job_joins (job_id) where ended_at is null;
create index job_joins_ended on millrace.job_joins (ended_at) where ended_at is not null;
grant select, insert, update, delete on millrace.job_joins to millrace_runtime;
grant select on millrace.job_joins to millrace_operator;

-- Enqueues what attempts collected, if they are among `parents`: an array of {"parent", "jobs"}, and for children also
-- "then", the job that waits for them, and "past_dead". Another transaction may have locked a unique_key: the function
-- then fails within 200 ms, and the caller settles row by row. Without sequential scans, because a plan that Postgres
-- made while the table was small would read the whole table for each fan-out.
create function millrace.enqueue_follow_ups(parents bigint[], groups jsonb) returns void
  language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '200ms'
  set enable_seqscan = off set jit = off
  as $$
declare
  follow_ups jsonb;
  fan_out jsonb;
  child_ids bigint[];
  waiting_id bigint;
begin
  select jsonb_agg(j.job order by g.ord, j.ord) into follow_ups
    from jsonb_array_elements(groups) with ordinality g(value, ord),
         jsonb_array_elements(g.value -> 'jobs') with ordinality j(job, ord)
    where not g.value ? 'then' and (g.value ->> 'parent')::bigint = any(parents);
  if follow_ups is not null then
    perform from millrace.enqueue_many(millrace.with_times(follow_ups));
  end if;
  for fan_out in
    select g.value from jsonb_array_elements(groups) g(value)
      where g.value ? 'then' and (g.value ->> 'parent')::bigint = any(parents)
  loop
    select coalesce(array_agg(e.id order by e.position, e.routing_key), '{}') into child_ids
      from millrace.enqueue_many(millrace.with_times(fan_out -> 'jobs')) e;
    select e.id into strict waiting_id
      from millrace.enqueue_many(millrace.with_times(jsonb_build_array(fan_out -> 'then'))) e;
    update millrace.jobs_live j set hold_until = timestamptz '9999-12-31 00:00:00+00' where j.id = waiting_id;
    insert into millrace.job_joins (job_id, parent_id, children, past_dead)
      values (waiting_id, (fan_out ->> 'parent')::bigint, child_ids, (fan_out ->> 'past_dead')::boolean);
  end loop;
end $$;

-- The next open joins, in order, and whether each can advance: its next child has finished, all have, or they are to be
-- cancelled. Most joins wait for a child that runs: one statement finds the others. It reads the index in its order:
-- with statistics of few joins, Postgres would sort all of them each time.
create function millrace.next_joins(after_id bigint, most integer) returns table (job_id bigint, advances boolean)
  language sql stable set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
  as $$
  select g.job_id, g.cancelled_at is not null or not exists (select from millrace.jobs_live l
      where l.id = g.next_child and not (g.past_dead and l.status = 'dead_letter'))
    from millrace.job_joins g
    where g.ended_at is null and g.job_id > after_id order by g.job_id limit most
$$;

-- Advances an open join: looks at its next children, at most a thousand, until it finds one that has not finished. When
-- all have finished, the job that waits is due, unless it has ended. Returns 'continued' if it is due, 'more' if the
-- function can be called again at once, or else null. Children with an early place are looked at once; the search never
-- returns to them.
create function millrace.advance_join(waiting_id bigint) returns text
  language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  as $$
declare
  found_join record;
  child bigint;
  looked integer := 0;
  is_open boolean := false;
  continues boolean;
begin
  select j.past_dead, j.finished, cardinality(j.children) as total, j.cancelled_at,
         j.children[j.finished + 1 : j.finished + 1000] as next_children
    into found_join from millrace.job_joins j
    where j.job_id = waiting_id and j.ended_at is null for update skip locked;
  if not found then
    return null;
  elsif found_join.cancelled_at is not null then
    return millrace.cancel_children(waiting_id);
  end if;
  foreach child in array found_join.next_children loop
    is_open := exists (select from millrace.jobs_live l
      where l.id = child and not (found_join.past_dead and l.status = 'dead_letter'));
    exit when is_open;
    looked := looked + 1;
  end loop;
  if is_open or found_join.finished + looked < found_join.total then
    if looked > 0 then
      update millrace.job_joins j set finished = found_join.finished + looked where j.job_id = waiting_id;
    end if;
    return case when not is_open then 'more' end;
  end if;
  -- Another transaction may have locked the job, for example to cancel it: the next round tries again.
  perform from millrace.jobs_live l where l.id = waiting_id for update skip locked;
  if not found and exists (select from millrace.jobs_live l where l.id = waiting_id) then
    return null;
  end if;
  -- Due from now on: metrics would otherwise count its wait for children as a delay of the dispatcher.
  update millrace.jobs_live l
    set hold_until = null, run_at = greatest(l.run_at, millrace.clock()), updated_at = millrace.clock()
    where l.id = waiting_id and l.status = 'pending';
  continues := found;
  update millrace.job_joins j set finished = found_join.total, ended_at = millrace.clock() where j.job_id = waiting_id;
  return case when continues then 'continued' end;
end $$;

-- Cancels the last of the children that have not started, at most a thousand, and forgets them. Those that are in
-- flight or whose rows are locked get a request to cancel. Returns 'more' until none is left, and null also if another
-- transaction is requesting the same: the dispatcher must not wait for it, and its next round tries again.
create function millrace.cancel_children(waiting_id bigint) returns text
  language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '50ms'
  set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
  as $$
declare
  found_join record;
  waiting bigint[];
begin
  select j.parent_id, j.cancelled_by, cardinality(j.children) as total, j.children[cardinality(j.children) - 999 :] as last
    into found_join from millrace.job_joins j where j.job_id = waiting_id;
  select array_agg(l.id) into waiting from (
    select k.id from millrace.jobs_live k
      where k.id = any(found_join.last) and k.status in ('pending', 'failed') order by k.id for update skip locked) l;
  if waiting is not null then
    perform millrace.finish_cancelled(waiting,
      format('cancelled by %s, with the job %s that waited for it', found_join.cancelled_by, waiting_id));
  end if;
  begin
    insert into millrace.cancel_requests (job_id, requested_by)
      select k.id, found_join.cancelled_by from millrace.jobs_live k
        where k.id = any(found_join.last) and k.status in ('pending', 'failed', 'dispatched') order by k.id
      on conflict do nothing;
  exception when lock_not_available then
    return null;
  end;
  update millrace.job_joins j
    set children = j.children[: cardinality(j.children) - 1000],
        ended_at = case when found_join.total <= 1000 then millrace.clock() end
    where j.job_id = waiting_id;
  return case when found_join.total > 1000 then 'more' end;
end $$;

revoke execute on function millrace.enqueue_follow_ups(bigint[], jsonb), millrace.next_joins(bigint, integer),
  millrace.advance_join(bigint), millrace.cancel_children(bigint) from public;
grant execute on function millrace.enqueue_follow_ups(bigint[], jsonb), millrace.next_joins(bigint, integer),
  millrace.advance_join(bigint), millrace.cancel_children(bigint) to millrace_runtime;
