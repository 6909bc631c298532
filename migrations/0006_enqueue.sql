-- How a job is enqueued: a plain insert, millrace.enqueue and millrace.enqueue_many; and how an application follows its
-- jobs: millrace.my_jobs. core/enqueue/enqueue.ts calls the functions. SECURITY DEFINER functions pin their search path
-- and qualify every name.

-- Raises the error of a check constraint, unless the rule is null.
create function millrace.refuse(rule text) returns void
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
begin
  if rule is not null then
    raise exception 'the job breaks a rule: %', rule using errcode = 'check_violation', constraint = rule,
      schema = 'millrace', table = 'jobs';
  end if;
end $$;
revoke execute on function millrace.refuse(text) from public;

-- Fills in max_attempts of a plain insert from the handler, or 5 if the handler is unknown. Refuses a value that would
-- not fit in an index; the trigger below refuses all others, for less.
create function millrace.fill_in_max_attempts() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
begin
  perform millrace.refuse(millrace.broken_rule(new.job_type, new.routing_key, null, null, null, null, null,
    new.unique_key, null, null, null, null));
  new.max_attempts := coalesce(new.max_attempts, (select h.max_attempts from millrace.handlers h
    where h.job_type = new.job_type and h.routing_key = new.routing_key), 5);
  return new;
end $$;
create trigger fill_in_max_attempts before insert on millrace.jobs_live
  for each row when (new.max_attempts is null
    or octet_length(new.job_type) + octet_length(new.routing_key) + octet_length(new.unique_key) > 2000)
  execute function millrace.fill_in_max_attempts();

-- Counts the jobs of an insert. Refuses those that break a rule, and ids that the insert names, if the sequence has not issued them or a finished job
-- has one: two jobs with one id could not both finish. Finished jobs are read only if the ids may not be new: if the
-- newest is not the one that this session was issued last, or the oldest is not newer than those that the session has
-- inserted before. Refuses a status other than pending: a dead letter by insert would have no row in dead_letters. The
-- functions below name jobs_live, and only ids of the sequence.
create function millrace.count_enqueued() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  issued bigint;
  lowest bigint;
  highest bigint;
  is_new boolean;
  broken text;
begin
  select min(i.id), max(i.id), bool_and(i.status = 'pending'),
         min(millrace.broken_rule(i.job_type, i.routing_key, i.payload, i.priority, i.max_attempts, i.run_at, i.start_by,
           i.unique_key, i.unique_until, i.group_key, i.on_dead_letter, i.traceparent))
    into lowest, highest, is_new, broken from inserted i;
  if highest is null then
    return null;
  end if;
  perform millrace.refuse(broken);
  if tg_table_name = 'jobs' then
    if not is_new then
      raise exception 'status: a new job is pending: omit the column' using errcode = 'invalid_parameter_value';
    end if;
    begin
      issued := currval('millrace.job_ids');
    exception when object_not_in_prerequisite_state then
      issued := null;
    end;
    -- The first insert of a session knows no earlier one: a single new id is the one that it was issued.
    if (highest is distinct from issued
          or lowest <= coalesce(nullif(current_setting('millrace.newest_id', true), '')::bigint, highest - 1))
        and exists (select from inserted i where i.id > (select s.last_value from millrace.job_ids s)
          or exists (select from millrace.jobs_finished f where f.id = i.id)) then
      raise exception 'id: the id of a job is assigned: omit the column' using errcode = 'invalid_parameter_value';
    end if;
  end if;
  perform set_config('millrace.newest_id', highest::text, false);
  insert into millrace.job_events (event, job_type, status, count)
    select 'enqueued', i.job_type, 'pending', count(*) from inserted i group by i.job_type;
  return null;
end $$;
-- A statement trigger fires for the table that the statement names, so both tables have one.
create trigger count_enqueued after insert on millrace.jobs
  referencing new table as inserted for each statement execute function millrace.count_enqueued();
create trigger count_enqueued after insert on millrace.jobs_live
  referencing new table as inserted for each statement execute function millrace.count_enqueued();

-- Refuses values that break a rule when a person changes jobs by hand. The engine names jobs_live, so this costs it
-- nothing.
create function millrace.check_changed() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
begin
  perform millrace.refuse((
    select min(millrace.broken_rule(c.job_type, c.routing_key, c.payload, c.priority, c.max_attempts, c.run_at,
      c.start_by, c.unique_key, c.unique_until, c.group_key, c.on_dead_letter, c.traceparent)) from changed c));
  return null;
end $$;
create trigger check_changed after update on millrace.jobs
  referencing new table as changed for each statement execute function millrace.check_changed();

-- Enqueues one job in the caller's transaction. If another job of the same handler holds the unique_key, it inserts
-- nothing and returns that job's id with deduplicated = true. With on_conflict 'replace' it first gives that job, unless
-- it has been dispatched, the payload and the options of this one, and returns replaced = true. Waits for an uncommitted
-- job with the same key. With routing_key '*', it does so for each deployed handler of the job type, and returns one
-- row for each, in the order of their routing keys.
create function millrace.enqueue(
  job_type text, payload jsonb default '{}', run_at timestamptz default null, priority integer default 5,
  max_attempts integer default null, routing_key text default '', unique_key text default null,
  group_key text default null, traceparent text default null, start_by timestamptz default null,
  on_dead_letter text default null, unique_by text default null, unique_for interval default null,
  unique_until text default null, on_conflict text default null
) returns table (id bigint, deduplicated boolean, replaced boolean)
  language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  as $$
#variable_conflict use_column
declare
  new_id bigint;
  handler_key text;
  fault text;
  -- How the key ends, for millrace.unique_keys; null for a key that the index holds.
  key_until text;
  is_free boolean;
  holder record;
  -- The job of unique_keys whose hold has ended.
  ended_id bigint;
begin
  if num_nonnulls(enqueue.unique_by, enqueue.unique_for, enqueue.unique_until, enqueue.on_conflict) > 0 then
    fault := millrace.unique_fault(enqueue.unique_key, enqueue.unique_by, enqueue.unique_for, enqueue.unique_until,
      enqueue.on_conflict);
    if fault is not null then
      raise exception 'enqueue: %', fault using errcode = 'invalid_parameter_value';
    end if;
    if enqueue.unique_by is not null then
      enqueue.unique_key := millrace.payload_key(coalesce(enqueue.payload, '{}'));
    end if;
    key_until := millrace.key_end(enqueue.unique_for, enqueue.unique_until);
  end if;
  if enqueue.routing_key = '*' then
    -- In key order, so that two callers with the same unique_key cannot deadlock.
    for handler_key in
      select h.routing_key from millrace.handlers h where h.job_type = enqueue.job_type order by h.routing_key
    loop
      return query select q.*
        from millrace.enqueue(enqueue.job_type, enqueue.payload, enqueue.run_at, enqueue.priority, enqueue.max_attempts,
          handler_key, enqueue.unique_key, enqueue.group_key, enqueue.traceparent, enqueue.start_by,
          enqueue.on_dead_letter, null, enqueue.unique_for, enqueue.unique_until, enqueue.on_conflict) q;
    end loop;
    if not found then
      raise exception 'enqueue: no handler of the job type % is deployed: deploy one, or name a routing key',
        enqueue.job_type using errcode = 'invalid_parameter_value', constraint = 'a handler of the job type is deployed';
    end if;
    return;
  end if;
  -- Only if the caller named both: clocks differ, so a time that has just passed is accepted.
  if enqueue.start_by < enqueue.run_at then
    raise exception 'enqueue: start_by is before run_at: no attempt could start in time'
      using errcode = 'check_violation', constraint = 'start_by is not before run_at';
  end if;
  enqueue.payload := coalesce(enqueue.payload, '{}');
  enqueue.run_at := coalesce(enqueue.run_at, millrace.clock());
  -- Bounded, so that the constraint refuses a number that is out of range for the column too.
  enqueue.priority := least(greatest(coalesce(enqueue.priority, 5), -1), 10);
  enqueue.routing_key := coalesce(enqueue.routing_key, '');
  for attempt in 1..100 loop
    new_id := nextval('millrace.job_ids');
    is_free := true;
    if key_until is not null and ended_id is not null then
      update millrace.unique_keys k
        set job_id = new_id, until = key_until, ends_at = millrace.clock() + enqueue.unique_for
        where k.job_type = enqueue.job_type and k.routing_key = enqueue.routing_key
          and k.unique_key = enqueue.unique_key and k.job_id = ended_id;
      is_free := found;
    elsif key_until is not null then
      insert into millrace.unique_keys as k (job_type, routing_key, unique_key, job_id, until, ends_at)
        select enqueue.job_type, enqueue.routing_key, enqueue.unique_key, new_id, key_until,
               millrace.clock() + enqueue.unique_for
          where not exists (select from millrace.jobs_live j
            where j.job_type = enqueue.job_type and j.routing_key = enqueue.routing_key
              and j.unique_key = enqueue.unique_key and j.unique_until is null)
        on conflict on constraint unique_keys_pkey do nothing;
      is_free := found;
    elsif ended_id is not null then
      -- The job whose hold has ended may become pending again, and would hold the key beside this one. The row stays,
      -- so that another caller waits for it.
      update millrace.unique_keys k set job_id = new_id, until = 'finished', ends_at = millrace.clock()
        where k.job_type = enqueue.job_type and k.routing_key = enqueue.routing_key
          and k.unique_key = enqueue.unique_key and k.job_id = ended_id;
      is_free := found;
    end if;
    if is_free then
      insert into millrace.jobs_live as j
          (id, job_type, payload, run_at, priority, max_attempts, routing_key, unique_key, group_key, traceparent,
           start_by, on_dead_letter, unique_until)
        select new_id, enqueue.job_type, enqueue.payload, enqueue.run_at, enqueue.priority, enqueue.max_attempts,
               enqueue.routing_key, enqueue.unique_key, enqueue.group_key, enqueue.traceparent, enqueue.start_by,
               enqueue.on_dead_letter, key_until
          where enqueue.unique_key is null or key_until is not null or not exists (
            select from millrace.unique_keys k
              where k.job_type = enqueue.job_type and k.routing_key = enqueue.routing_key
                and k.unique_key = enqueue.unique_key and k.job_id <> new_id)
        on conflict (job_type, routing_key, unique_key) where unique_key is not null and unique_until is null do nothing;
      if found then
        return query select new_id, false, false;
        return;
      end if;
    end if;
    select * into holder from millrace.find_key_holder(enqueue.job_type, enqueue.routing_key, enqueue.unique_key,
      enqueue.on_conflict is not distinct from 'replace');
    if holder.holds then
      if enqueue.on_conflict = 'replace' then
        return query select holder.job_id, true, millrace.replace_job(holder.job_id, enqueue.payload, enqueue.run_at,
          enqueue.priority, enqueue.max_attempts, enqueue.group_key, enqueue.traceparent, enqueue.start_by,
          enqueue.on_dead_letter);
      else
        return query select holder.job_id, true, false;
      end if;
      return;
    end if;
    -- The hold ended before or between the statements: the key is free, so insert again.
    ended_id := holder.job_id;
  end loop;
  raise exception 'enqueue: unique_key % changed hands a hundred times, try again', enqueue.unique_key
    using errcode = 'serialization_failure';
end $$;

-- Enqueues an array of objects whose keys are the arguments of enqueue. All or none. `position` counts from 0. A null
-- is a missing argument, except as the payload: the payload null stays null. An object with routing_key '*' has a row
-- for each deployed handler of its job type, all with its position.
create function millrace.enqueue_many(jobs jsonb)
  returns table ("position" bigint, id bigint, deduplicated boolean, routing_key text, replaced boolean)
  -- Memoize would reuse the answer to one item for an equal item after it, and both would be new.
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_memoize = off set enable_seqscan = off set jit = off
  as $$
#variable_conflict use_column
declare
  unknown text;
  deployed jsonb := '{}';
  -- The members of a job and their types; null for any.
  types constant jsonb := '{"job_type": "string", "payload": null, "run_at": "string", "priority": "number",
    "max_attempts": "number", "routing_key": "string", "unique_key": "string", "unique_by": "string",
    "unique_for": "string", "unique_until": "string", "on_conflict": "string", "group_key": "string",
    "traceparent": "string", "start_by": "string", "on_dead_letter": "string"}';
begin
  if jsonb_typeof(enqueue_many.jobs) is distinct from 'array' then
    raise exception 'enqueue_many: expected a JSON array of jobs, got %', coalesce(jsonb_typeof(enqueue_many.jobs), 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  -- Applications and Postgres log the error, so it contains no part of a payload.
  select format('enqueue_many: job %s: expected an object with job_type, got %s', e.ord - 1,
      case jsonb_typeof(e.value) when 'object'
        then coalesce('an object whose job_type is of type ' || jsonb_typeof(e.value -> 'job_type'), 'one without it')
        else jsonb_typeof(e.value) end)
    into unknown from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord)
    where jsonb_typeof(e.value) <> 'object' or jsonb_typeof(e.value -> 'job_type') is distinct from 'string' limit 1;
  if unknown is null then
    -- Otherwise jsonb_to_record would make a key of a number, and of the text of an object.
    select format('enqueue_many: job %s: ', e.ord - 1) || case when types ? k
        then format('%s: expected a %s, got %s', k, types ->> k, jsonb_typeof(e.value -> k))
        else format('unknown key %s; the keys are %s', k, (select string_agg(n, ', ' order by n)
          from jsonb_object_keys(types) n))
        end into unknown
      from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord), jsonb_object_keys(e.value) k
      where not types ? k or jsonb_typeof(e.value -> k) not in (types ->> k, 'null') limit 1;
  end if;
  if unknown is null and enqueue_many.jobs
      @? '$[*] ? (@.unique_by != null || @.unique_for != null || @.unique_until != null || @.on_conflict != null)' then
    select format('enqueue_many: job %s: %s', e.ord - 1, f.fault) into unknown
      from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord),
           millrace.unique_fault(e.value ->> 'unique_key', e.value ->> 'unique_by',
             (e.value ->> 'unique_for')::interval, e.value ->> 'unique_until', e.value ->> 'on_conflict') as f(fault)
      where f.fault is not null order by e.ord limit 1;
  end if;
  if unknown is null and enqueue_many.jobs @? '$[*] ? (@.routing_key == "*")' then
    -- Read once: the handlers may change between the statements below. A lookup for each job avoids a join of all jobs
    -- with all handlers.
    select coalesce(jsonb_object_agg(d.job_type, d.keys), '{}') into deployed
      from (select h.job_type, jsonb_agg(h.routing_key order by h.routing_key) as keys
              from millrace.handlers h
              where h.job_type in (select e.value ->> 'job_type' from jsonb_array_elements(enqueue_many.jobs) e(value)
                where e.value ->> 'routing_key' = '*')
              group by h.job_type) d;
    select format('enqueue_many: job %s: no handler of the job type %s is deployed: deploy one, or name a routing key',
        e.ord - 1, e.value ->> 'job_type') into unknown
      from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord)
      where e.value ->> 'routing_key' = '*' and not deployed ? (e.value ->> 'job_type') limit 1;
    if unknown is not null then
      raise exception '%', unknown
        using errcode = 'invalid_parameter_value', constraint = 'a handler of the job type is deployed';
    end if;
  end if;
  if unknown is not null then
    raise exception '%', unknown using errcode = 'invalid_parameter_value';
  end if;
  if enqueue_many.jobs @? '$[*] ? (@.start_by != null && @.run_at != null)' then
    select format('enqueue_many: job %s: start_by is before run_at: no attempt could start in time', e.ord - 1)
      into unknown from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord)
      where (e.value ->> 'start_by')::timestamptz < (e.value ->> 'run_at')::timestamptz order by e.ord limit 1;
    if unknown is not null then
      raise exception '%', unknown
        using errcode = 'check_violation', constraint = 'start_by is not before run_at';
    end if;
  end if;
  -- Jobs without a key cannot collide: one statement inserts them, with ids in their order.
  return query
    with wanted as materialized (
      select e.ord - 1 as pos, nextval('millrace.job_ids') as new_id, e.value -> 'payload' as payload, k.key, r.*
        from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord),
             jsonb_to_record(e.value) as r(job_type text, run_at timestamptz, priority integer, max_attempts integer,
               routing_key text, group_key text, traceparent text, start_by timestamptz, on_dead_letter text),
             unnest(case when r.routing_key = '*' then array(select jsonb_array_elements_text(deployed -> r.job_type))
               else array[coalesce(r.routing_key, '')] end) as k(key)
        where coalesce(e.value ->> 'unique_key', e.value ->> 'unique_by') is null
    ), inserted as (
      insert into millrace.jobs_live
          (id, job_type, payload, run_at, priority, max_attempts, routing_key, group_key, traceparent, start_by,
           on_dead_letter)
        select w.new_id, w.job_type, coalesce(w.payload, '{}'), coalesce(w.run_at, millrace.clock()),
               least(greatest(coalesce(w.priority, 5), -1), 10), coalesce(w.max_attempts, h.max_attempts, 5), w.key,
               w.group_key, w.traceparent, w.start_by, w.on_dead_letter
          from wanted w
          left join millrace.handlers h on h.job_type = w.job_type and h.routing_key = w.key
          order by w.new_id
    )
    select w.pos, w.new_id, false, w.key, false from wanted w;
  -- In key order, so that two callers with the same keys cannot deadlock. One statement inserts the jobs whose keys are
  -- free and last until the job has finished; enqueue inserts or finds the others.
  return query
    with wanted as materialized (
      select row_number() over (order by e.value ->> 'job_type', k.key, u.unique_key, e.ord) as place,
             e.ord - 1 as pos, e.value -> 'payload' as payload, k.key, u.unique_key, r.*
        from jsonb_array_elements(enqueue_many.jobs) with ordinality e(value, ord),
             jsonb_to_record(e.value) as r(job_type text, run_at timestamptz, priority integer, max_attempts integer,
               routing_key text, group_key text, traceparent text, start_by timestamptz, on_dead_letter text,
               unique_for interval, unique_until text, on_conflict text),
             lateral (select coalesce(e.value ->> 'unique_key', case when e.value ->> 'unique_by' is not null
               then millrace.payload_key(coalesce(e.value -> 'payload', '{}')) end) as unique_key) u,
             unnest(case when r.routing_key = '*' then array(select jsonb_array_elements_text(deployed -> r.job_type))
               else array[coalesce(r.routing_key, '')] end) as k(key)
        where u.unique_key is not null
    ), inserted as (
      insert into millrace.jobs_live
          (job_type, payload, run_at, priority, max_attempts, routing_key, unique_key, group_key, traceparent, start_by,
           on_dead_letter)
        select w.job_type, coalesce(w.payload, '{}'), coalesce(w.run_at, millrace.clock()),
               least(greatest(coalesce(w.priority, 5), -1), 10), coalesce(w.max_attempts, h.max_attempts, 5), w.key,
               w.unique_key, w.group_key, w.traceparent, w.start_by, w.on_dead_letter
          from wanted w
          left join millrace.handlers h on h.job_type = w.job_type and h.routing_key = w.key
          where w.on_conflict is distinct from 'replace' and millrace.key_end(w.unique_for, w.unique_until) is null
            -- A scalar, so that Postgres reads each key by itself and not the whole table.
            and (select k.job_id from millrace.unique_keys k where k.job_type = w.job_type and k.routing_key = w.key
              and k.unique_key = w.unique_key) is null
          order by w.place
        on conflict (job_type, routing_key, unique_key) where unique_key is not null and unique_until is null do nothing
        returning jobs_live.id, jobs_live.job_type, jobs_live.routing_key, jobs_live.unique_key
    ), placed as materialized (
      -- Of several with one key, the first was inserted.
      select distinct on (i.id) w.pos, i.id, w.key, w.place
        from inserted i
        join wanted w on w.job_type = i.job_type and w.key = i.routing_key and w.unique_key = i.unique_key
        order by i.id, w.place
    ), taken as materialized (
      select * from wanted w where w.place not in (select p.place from placed p) order by w.place
    )
    select a.pos, a.id, a.deduplicated, a.key, a.replaced
      from (
        select p.place, p.pos, p.id, false as deduplicated, p.key, false as replaced from placed p
        union all
        select t.place, t.pos, q.id, q.deduplicated, t.key, q.replaced
          from taken t,
               lateral millrace.enqueue(t.job_type, coalesce(t.payload, '{}'), t.run_at, coalesce(t.priority, 5),
                 t.max_attempts, t.key, t.unique_key, t.group_key, t.traceparent, t.start_by, t.on_dead_letter, null,
                 t.unique_for, t.unique_until, t.on_conflict) q
      ) a
      order by a.place;
end $$;

-- Returns jobs for enqueue_many with a time in place of the seconds of `delay`, from now, and of `start_within`, from the
-- run time.
create function millrace.with_times(jobs jsonb) returns jsonb
  language sql stable set search_path = pg_catalog, pg_temp
  as $$
  select coalesce(jsonb_agg(i.job - array['delay', 'start_within']
             || case when i.job ? 'delay' then jsonb_build_object('run_at', t.run_at) else '{}' end
             || case when i.job ? 'start_within' then jsonb_build_object('start_by',
                  t.run_at + make_interval(secs => (i.job ->> 'start_within')::float8)) else '{}' end
           order by i.place), '[]')
    from jsonb_array_elements(jobs) with ordinality as i(job, place),
         lateral (select coalesce((i.job ->> 'run_at')::timestamptz,
           millrace.clock() + make_interval(secs => coalesce((i.job ->> 'delay')::float8, 0))) as run_at) t
$$;

revoke execute on all functions in schema millrace from public;

grant execute on function
  millrace.enqueue(text, jsonb, timestamptz, integer, integer, text, text, text, text, timestamptz, text, text, interval,
    text, text),
  millrace.enqueue_many(jsonb), millrace.with_times(jsonb) to millrace_app, millrace_runtime;

-- The jobs that the caller's login inserted, with the fields that the API shows to every caller that follows a job. The
-- login is that of the session, whatever `set role` or a SECURITY DEFINER function changes. Applications read it by id:
-- each partition has an index of ids, and no index of logins slows down every insert.
create view millrace.my_jobs with (security_barrier) as
  select j.id, j.job_type, j.routing_key, j.status, j.priority, j.attempts, j.max_attempts, j.run_at, j.start_by,
         j.next_retry_at, j.created_at, j.updated_at, j.dispatched_at, j.started_at, j.finished_at
    from millrace.jobs j
    where j.inserted_by = session_user;
grant select on millrace.my_jobs to millrace_app, millrace_runtime;
