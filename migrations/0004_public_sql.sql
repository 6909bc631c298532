-- What applications and operators call. SECURITY DEFINER functions pin their search path and qualify every name.

-- Fills in what a plain insert left to the handler: its number of tries, 5 where no handler is known yet.
create function millrace.fill_in_max_attempts() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
begin
  new.max_attempts := coalesce((select h.max_attempts from millrace.handlers h
    where h.job_type = new.job_type and h.routing_key = new.routing_key), 5);
  return new;
end $$;
create trigger fill_in_max_attempts before insert on millrace.jobs_live
  for each row when (new.max_attempts is null) execute function millrace.fill_in_max_attempts();

create function millrace.count_enqueued() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into millrace.job_events (event, job_type, status, count)
    select 'enqueued', i.job_type, 'pending', count(*) from inserted i group by i.job_type;
  return null;
end $$;
-- Statement triggers fire for the table that the statement names, so both doors have one.
create trigger count_enqueued after insert on millrace.jobs
  referencing new table as inserted for each statement execute function millrace.count_enqueued();
create trigger count_enqueued after insert on millrace.jobs_live
  referencing new table as inserted for each statement execute function millrace.count_enqueued();

-- Puts one job in the table, inside the caller's transaction. With a unique_key that a live job of the same handler
-- holds, nothing is inserted: the id is that job's and deduplicated is true. Waits for an uncommitted twin.
create function millrace.enqueue(
  job_type text, payload jsonb default '{}', run_at timestamptz default null, priority integer default 5,
  max_attempts integer default null, routing_key text default '', unique_key text default null,
  group_key text default null, traceparent text default null
) returns table (id bigint, deduplicated boolean)
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  new_id bigint;
begin
  for attempt in 1..100 loop
    insert into millrace.jobs_live as j
        (job_type, payload, run_at, priority, max_attempts, routing_key, unique_key, group_key, traceparent)
      values (enqueue.job_type, coalesce(enqueue.payload, '{}'), coalesce(enqueue.run_at, millrace.clock()),
              coalesce(enqueue.priority, 5),
              enqueue.max_attempts, coalesce(enqueue.routing_key, ''), enqueue.unique_key, enqueue.group_key,
              enqueue.traceparent)
      on conflict (job_type, routing_key, unique_key) where unique_key is not null do nothing
      returning j.id into new_id;
    if found then
      return query select new_id, false;
      return;
    end if;
    select j.id into new_id from millrace.jobs_live j
      where j.job_type = enqueue.job_type and j.routing_key = coalesce(enqueue.routing_key, '')
        and j.unique_key = enqueue.unique_key;
    if found then
      return query select new_id, true;
      return;
    end if;
    -- The holder of the key finished between the two statements: the key is free, try again.
  end loop;
  raise exception 'enqueue: unique_key % changed hands a hundred times, try again', enqueue.unique_key
    using errcode = 'serialization_failure';
end $$;

-- Many at once: an array of objects with the arguments of enqueue as keys. All or none. `position` counts from 0.
create function millrace.enqueue_many(jobs jsonb)
  returns table ("position" bigint, id bigint, deduplicated boolean)
  -- Memoize would take the answer to one item for the answer to the next that is equal to it: both the first.
  language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_memoize = off
  as $$
#variable_conflict use_column
declare
  unknown text;
begin
  if jsonb_typeof(enqueue_many.jobs) is distinct from 'array' then
    raise exception 'enqueue_many: expected a JSON array of jobs, got %', coalesce(jsonb_typeof(enqueue_many.jobs), 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  select format('enqueue_many: job %s: expected an object with job_type, got %s', e.ord - 1, left(e.value::text, 80))
    into unknown from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord)
    where jsonb_typeof(e.value) <> 'object' or jsonb_typeof(e.value -> 'job_type') is distinct from 'string' limit 1;
  if unknown is null then
    select format('enqueue_many: job %s: unknown key %s', e.ord - 1, k) into unknown
      from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord), jsonb_object_keys(e.value) k
      where k not in ('job_type', 'payload', 'run_at', 'priority', 'max_attempts', 'routing_key', 'unique_key',
                      'group_key', 'traceparent') limit 1;
  end if;
  if unknown is not null then
    raise exception '%', unknown using errcode = 'invalid_parameter_value';
  end if;
  -- Jobs without a key cannot collide and go in as one statement; ids are drawn in their order.
  return query
    with wanted as materialized (
      select e.ord - 1 as pos, nextval('millrace.job_ids') as new_id, r.*
        from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord),
             jsonb_to_record(e.value) as r(job_type text, payload jsonb, run_at timestamptz, priority integer,
               max_attempts integer, routing_key text, unique_key text, group_key text, traceparent text)
        where e.value ->> 'unique_key' is null
    ), inserted as (
      insert into millrace.jobs_live
          (id, job_type, payload, run_at, priority, max_attempts, routing_key, group_key, traceparent)
        select w.new_id, w.job_type, coalesce(w.payload, '{}'), coalesce(w.run_at, millrace.clock()),
               coalesce(w.priority, 5), coalesce(w.max_attempts, h.max_attempts, 5), coalesce(w.routing_key, ''),
               w.group_key, w.traceparent
          from wanted w
          left join millrace.handlers h on h.job_type = w.job_type and h.routing_key = coalesce(w.routing_key, '')
          order by w.pos
    )
    select w.pos, w.new_id, false from wanted w;
  -- In key order, so that two callers with the same keys cannot deadlock.
  return query
    select e.ord - 1, q.id, q.deduplicated
      from (select * from jsonb_array_elements(enqueue_many.jobs) with ordinality a(value, ord)
              where a.value ->> 'unique_key' is not null
              order by a.value ->> 'job_type', coalesce(a.value ->> 'routing_key', ''), a.value ->> 'unique_key',
                       a.ord) e,
           lateral (select * from jsonb_to_record(e.value) as r(job_type text, payload jsonb, run_at timestamptz,
             priority integer, max_attempts integer, routing_key text, unique_key text, group_key text,
             traceparent text)) r,
           lateral millrace.enqueue(r.job_type, coalesce(r.payload, '{}'), r.run_at, coalesce(r.priority, 5),
             r.max_attempts, r.routing_key, r.unique_key, r.group_key, r.traceparent) q;
end $$;

-- Ends waiting and dead jobs as cancelled. Not for callers: it trusts that the rows are locked.
create function millrace.finish_cancelled(job_ids bigint[], reason text) returns setof bigint
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  with gone as (
    delete from millrace.jobs_live j where j.id = any(job_ids) and j.status <> 'running' returning j.*
  ), kept as (
    insert into millrace.jobs_finished (id, slot, job_type, routing_key, payload, status, priority, attempts,
        max_attempts, run_at, claim_no, message_id, message_sent_at, request_id, dispatched_at, started_at, finished_at,
        created_at, updated_at, unique_key, group_key, last_error, progress, traceparent)
      select id, millrace.slot_of(millrace.clock()), job_type, routing_key, payload, 'cancelled', priority, attempts,
        max_attempts, run_at, claim_no, message_id, message_sent_at, request_id, dispatched_at, started_at,
        millrace.clock(), created_at, millrace.clock(), unique_key, group_key, coalesce(reason, last_error), progress,
        traceparent from gone
  ), asked as (
    delete from millrace.cancel_requests c using gone where c.job_id = gone.id
  ), mirrored as (
    update millrace.dead_letters d
      set status = 'discarded', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = reason
      from gone where d.job_id = gone.id and d.status = 'open'
  )
  select id from gone
$$;

-- Cancels a job: 'cancelled' (it waited or was dead), 'requested' (a handler has it: start, settle or rescue will see
-- the request), 'finished' (too late), 'not_found'. Never waits for a row that a handler needs.
create function millrace.cancel(id bigint) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
begin
  perform from millrace.jobs_live j
    where j.id = cancel.id and j.status in ('pending', 'failed', 'dead_letter') for update skip locked;
  if found then
    perform millrace.finish_cancelled(array[cancel.id], 'cancelled by ' || millrace.actor());
    insert into millrace.audit_log (action, job_id) values ('cancel', cancel.id);
    return 'cancelled';
  end if;
  if exists (select from millrace.jobs_live j where j.id = cancel.id) then
    insert into millrace.cancel_requests (job_id) values (cancel.id) on conflict do nothing;
    insert into millrace.audit_log (action, job_id) values ('cancel', cancel.id);
    return 'requested';
  end if;
  if exists (select from millrace.jobs_finished j where j.id = cancel.id) then
    return 'finished';
  end if;
  return 'not_found';
end $$;

-- The one redrive behind every door: dead_letter under this claim becomes pending with fresh attempts. A null claim
-- stands for whatever the row has. Whoever comes second finds nothing to do and gets no row. A suspect stays one: what
-- killed its process once may do so again, and its batch-mates with it.
create function millrace.redrive(job_ids bigint[], claim_nos bigint[], door text) returns setof bigint
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  with wanted as materialized (
    select j.id, j.claim_no, j.job_type, j.attempts
      from millrace.jobs_live j
      join unnest(job_ids, claim_nos) as w(id, claim_no) on w.id = j.id
      where j.status = 'dead_letter' and (w.claim_no is null or w.claim_no = j.claim_no)
      order by j.id for update of j skip locked
  ), revived as (
    update millrace.jobs_live j
      set status = 'pending', run_at = millrace.clock(), hold_until = null, attempts = 0, losses = 0,
          updated_at = millrace.clock()
      from wanted w where j.id = w.id
      returning j.id
  ), mirrored as (
    update millrace.dead_letters d
      set status = 'redriven', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = door
      from wanted w where d.job_id = w.id and d.status = 'open'
  ), remembered as (
    insert into millrace.job_attempts (job_id, claim_no, attempt, outcome)
      select w.id, w.claim_no, w.attempts, 'redriven' from wanted w
  ), audited as (
    insert into millrace.audit_log (action, job_id, details)
      select 'redrive', w.id, jsonb_build_object('door', door) from wanted w
  ), counted as (
    insert into millrace.job_events (event, job_type, status, count)
      select 'manual_retry', w.job_type, 'pending', count(*) from wanted w group by w.job_type
  )
  select id from revived
$$;

-- Tries a job again now: 'redriven' (it was dead and has fresh attempts), 'due' (it had failed and no longer waits),
-- 'busy' (its row is locked, try again), 'not_dead' (any other state), 'not_found'.
create function millrace.retry(id bigint) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  found_type text;
begin
  if exists (select from millrace.redrive(array[retry.id], array[null::bigint], 'sql')) then
    return 'redriven';
  end if;
  update millrace.jobs_live j set next_retry_at = millrace.clock(), updated_at = millrace.clock()
    where j.id = (select k.id from millrace.jobs_live k where k.id = retry.id and k.status = 'failed'
                    for update skip locked)
    returning j.job_type into found_type;
  if found then
    insert into millrace.audit_log (action, job_id) values ('retry', retry.id);
    insert into millrace.job_attempts (job_id, attempt, outcome)
      select j.id, j.attempts, 'retried' from millrace.jobs_live j where j.id = retry.id;
    insert into millrace.job_events (event, job_type, status, count) values ('manual_retry', found_type, 'failed', 1);
    return 'due';
  end if;
  if exists (select from millrace.jobs_live j where j.id = retry.id and j.status in ('dead_letter', 'failed')) then
    return 'busy';
  end if;
  if exists (select from millrace.jobs j where j.id = retry.id) then
    return 'not_dead';
  end if;
  return 'not_found';
end $$;

-- The classic shape: what is dead now. Deleting a row discards the job.
create view millrace.failed_jobs as
  select d.id, d.job_id, d.job_type, coalesce(j.status, 'dead_letter') as status, coalesce(j.attempts, 0) as attempts,
         coalesce(j.max_attempts, 0) as max_attempts, d.last_error, d.error_stacktrace,
         coalesce(j.payload, to_jsonb(d.raw_body)) as input_data, coalesce(j.created_at, d.died_at) as created_at,
         d.died_at as updated_at
    from millrace.dead_letters d
    left join millrace.jobs_live j on j.id = d.job_id
    where d.status = 'open';

create function millrace.discard_failed_job() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
begin
  if old.job_id is null then
    update millrace.dead_letters d
      set status = 'discarded', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = 'deleted'
      where d.id = old.id and d.status = 'open';
    return old;
  end if;
  -- A job that somebody else has redriven or is redriving is not ours to discard, and no request to cancel may follow
  -- it back to work: nothing is deleted.
  perform from millrace.jobs_live j
    where j.id = old.job_id and j.status = 'dead_letter' for update skip locked;
  if not found then
    return null;
  end if;
  perform millrace.finish_cancelled(array[old.job_id], 'discarded by ' || millrace.actor());
  insert into millrace.audit_log (action, job_id) values ('discard', old.job_id);
  return old;
end $$;
create trigger discard_failed_job instead of delete on millrace.failed_jobs
  for each row execute function millrace.discard_failed_job();

-- Empties a day of the ring if its newest row is older than the retention, and says whether it did. Needs no owner at
-- run time; gives up after 50 ms rather than let others queue behind it: late pruning loses nothing.
create function millrace.prune_slot(slot smallint, retention interval) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms'
  as $$
declare
  leaf text := 'millrace.jobs_finished_' || lpad(slot::text, 2, '0');
  young boolean;
begin
  if retention > interval '30 days' or retention < interval '1 hour' then
    raise exception 'retention: expected 1 hour to 30 days, got %', retention using errcode = 'invalid_parameter_value';
  end if;
  -- What finishes now goes into the slot of today: its first row could arrive between the look below and the lock. The
  -- slot of yesterday may still be written by a transaction that began before midnight.
  if slot in (millrace.slot_of(millrace.clock()), millrace.slot_of(millrace.clock() - interval '1 day')) then
    return false;
  end if;
  if pg_relation_size(leaf) = 0 then
    return false;
  end if;
  execute format('select exists (select from %s where finished_at > millrace.clock() - $1)', leaf)
    into young using retention;
  if young then
    return false;
  end if;
  execute format('truncate %s', leaf);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Autovacuum analyses leaves, never a partitioned parent, and others may not. Statistics of an hour ago will do while a
-- vacuum or an index build has a leaf.
create function millrace.analyze_jobs() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s'
  as $$
begin
  analyze millrace.jobs;
exception when lock_not_available then
  null;
end $$;

-- To be called after a restore or a clone: messages of the other life are foreign from then on.
create function millrace.renew_epoch() returns text
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  update millrace.installation set epoch = substr(md5(random()::text || clock_timestamp()::text), 1, 12) returning epoch
$$;

-- Claims nothing for a handler any more, what is in flight finishes; or claims for it again, from the next round on.
-- False when there is no such handler, or it is so already.
create function millrace.pause(job_type text, routing_key text default '') returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  with changed as (
    update millrace.handlers h set paused_at = millrace.clock()
      where h.job_type = pause.job_type and h.routing_key = pause.routing_key and h.paused_at is null
      returning h.job_type, h.routing_key
  ), audited as (
    insert into millrace.audit_log (action, details)
      select 'pause', jsonb_build_object('job_type', c.job_type, 'routing_key', c.routing_key) from changed c
  )
  select exists (select from changed)
$$;

create function millrace.resume(job_type text, routing_key text default '') returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  with changed as (
    update millrace.handlers h set paused_at = null
      where h.job_type = resume.job_type and h.routing_key = resume.routing_key and h.paused_at is not null
      returning h.job_type, h.routing_key
  ), audited as (
    insert into millrace.audit_log (action, details)
      select 'resume', jsonb_build_object('job_type', c.job_type, 'routing_key', c.routing_key) from changed c
  )
  select exists (select from changed)
$$;

revoke execute on all functions in schema millrace from public;
grant execute on function
  millrace.enqueue(text, jsonb, timestamptz, integer, integer, text, text, text, text),
  millrace.enqueue_many(jsonb) to millrace_app, millrace_runtime;
grant execute on function millrace.cancel(bigint) to millrace_app, millrace_operator, millrace_runtime;
grant execute on function millrace.retry(bigint), millrace.pause(text, text), millrace.resume(text, text)
  to millrace_operator, millrace_runtime;
grant execute on function millrace.redrive(bigint[], bigint[], text), millrace.finish_cancelled(bigint[], text),
  millrace.prune_slot(smallint, interval), millrace.analyze_jobs(), millrace.renew_epoch() to millrace_runtime;
grant select, delete on millrace.failed_jobs to millrace_operator, millrace_runtime;
