-- Changes of many jobs by filter: an operation cancels, retries, discards, deletes or reschedules the jobs that matched
-- when it started, step by step. millrace.operations is in 0011, because a redrive is an operation, too.

-- Whether a payload has all these values: an array of {"path": ["customer", "id"], "value": "42"}. Values are compared
-- as text, so that 42 and "42" are equal; an object or array never matches.
-- In PL/pgSQL, because a query for each job would take ten times as long.
create function millrace.payload_matches(payload jsonb, conditions jsonb) returns boolean
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp
  as $$
declare
  path jsonb;
  step text;
  found_value jsonb;
begin
  for n in 0 .. jsonb_array_length(conditions) - 1 loop
    path := conditions -> n -> 'path';
    found_value := payload;
    for depth in 0 .. jsonb_array_length(path) - 1 loop
      step := path ->> depth;
      found_value := case when jsonb_typeof(found_value) <> 'array' then found_value -> step
        when step ~ '^[0-9]{1,7}$' then found_value -> step::integer end;
    end loop;
    if coalesce(jsonb_typeof(found_value) in ('object', 'array'), true)
      or found_value #>> '{}' is distinct from conditions -> n ->> 'value' then
      return false;
    end if;
  end loop;
  return true;
end $$;

-- The group of the last error of a job: the fingerprint of its dead letter, or else of its last attempt that has one.
create function millrace.job_group(job_id bigint) returns text
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set jit = off
  as $$
begin
  return coalesce(
    (select d.fingerprint from millrace.dead_letters d where d.job_id = job_group.job_id and d.status = 'open'),
    -- The time of the attempts comes first, because Postgres could walk the primary key to find the largest id.
    (select a.fingerprint from millrace.job_attempts a
       where a.job_id = job_group.job_id and a.fingerprint is not null
       order by a.finished_at desc, a.id desc limit 1));
end $$;

-- Whether a job matches a filter, for lists and operations alike. Its keys, all optional: statuses, job_types,
-- routing_key, unique_key, group_key, error (part of the text of the last error, case-insensitive), group (the first
-- characters of the fingerprint of the last error), created_from and created_to, attempts_from and attempts_to, payload
-- (the conditions of payload_matches). Postgres inlines the function, so that a key that is absent costs nothing.
create function millrace.job_matches(
  filter jsonb, id bigint, status text, job_type text, routing_key text, unique_key text, group_key text,
  last_error text, created_at timestamptz, attempts integer, payload jsonb
) returns boolean
  language sql stable parallel safe
  return (filter -> 'statuses' is null or filter -> 'statuses' ? status)
    and (filter -> 'job_types' is null or filter -> 'job_types' ? job_type)
    and (filter -> 'routing_key' is null or routing_key = filter ->> 'routing_key')
    and (filter -> 'unique_key' is null or unique_key = filter ->> 'unique_key')
    and (filter -> 'group_key' is null or group_key = filter ->> 'group_key')
    and (filter -> 'created_from' is null or created_at >= (filter ->> 'created_from')::timestamptz)
    and (filter -> 'created_to' is null or created_at <= (filter ->> 'created_to')::timestamptz)
    and (filter -> 'attempts_from' is null or attempts >= (filter ->> 'attempts_from')::integer)
    and (filter -> 'attempts_to' is null or attempts <= (filter ->> 'attempts_to')::integer)
    and (filter -> 'error' is null or position(lower(filter ->> 'error') in lower(last_error)) > 0)
    and (filter -> 'payload' is null or millrace.payload_matches(payload, filter -> 'payload'))
    and (filter -> 'group' is null
      or last_error is not null and starts_with(millrace.job_group(id), filter ->> 'group'));

-- The statuses of the jobs that an operation of this kind can change; null for an unknown kind.
create function millrace.operable_statuses(kind text) returns text[]
  language sql immutable
  return case kind
    when 'cancel' then array['pending', 'failed', 'dispatched', 'running', 'dead_letter']
    when 'retry' then array['failed', 'dead_letter']
    when 'discard' then array['dead_letter']
    when 'delete' then array['succeeded', 'skipped', 'cancelled']
    when 'reschedule' then array['pending', 'failed'] end;

-- Returns what is wrong with the filter of an operation, or null. An empty filter is refused: it must not mean
-- everything.
create function millrace.job_filter_fault(kind text, filter jsonb) returns text
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  key text;
  value jsonb;
  expected text;
  fits boolean;
  allowed text[] := millrace.operable_statuses(kind);
begin
  if filter is null or jsonb_typeof(filter) <> 'object' then
    return format('filter: expected an object such as {"job_types": ["send_reminder"]} or {"all": true}, got %s',
      coalesce(filter::text, 'null'));
  end if;
  for key, value in select * from jsonb_each(filter) loop
    expected := case
      when key = 'statuses'
        then format('an array of statuses that %s can change: %s', kind, array_to_string(allowed, ', '))
      when key = 'job_types' then 'an array of job types, at most 1000'
      when key = 'routing_key' then 'a string of at most 60 characters'
      when key in ('unique_key', 'group_key') then 'a string of 1 to 500 characters'
      when key = 'error' then 'a part of the error text, of 1 to 500 characters'
      when key = 'group' then 'at least the first 4 characters of a fingerprint, such as "5f65afc7"'
      when key in ('created_from', 'created_to') then 'a time with a time zone, such as "2026-01-31T12:00:00Z"'
      when key in ('attempts_from', 'attempts_to') then 'a whole number of attempts, 0 to 1000000'
      when key = 'payload' then 'an array of 1 to 10 objects such as {"path": ["customer"], "value": "42"}'
      when key = 'limit' then 'a whole number of jobs, at least 1 and without quotes'
      when key = 'all' then 'true, or omit the key' end;
    if expected is null then
      return format('%s: unknown key; the keys are statuses, job_types, routing_key, unique_key, group_key, error, '
        'group, created_from, created_to, attempts_from, attempts_to, payload, limit and all', key);
    end if;
    fits := case
        when key = 'statuses' then value @? 'strict $ ? (@.type() == "array") ? (@.size() > 0)'
          and value <@ to_jsonb(allowed)
        when key = 'job_types' then value @? 'strict $ ? (@.type() == "array") ? (@.size() > 0 && @.size() <= 1000)'
          and not value @? 'strict $[*] ? (@.type() <> "string" || !(@ like_regex "^.{0,60}$"))'
        when key in ('unique_key', 'group_key') then jsonb_typeof(value) = 'string'
          and length(value #>> '{}') between 1 and 500
        when key = 'error' then jsonb_typeof(value) = 'string' and length(value #>> '{}') <= 500
          and value #>> '{}' ~ '\S'
        when key = 'group' then jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[0-9a-f]{4,64}$'
        when key in ('created_from', 'created_to') then jsonb_typeof(value) = 'string'
          and length(value #>> '{}') <= 64 and millrace.is_time(value #>> '{}')
        when key in ('attempts_from', 'attempts_to') then jsonb_typeof(value) = 'number'
          and value #>> '{}' ~ '^[0-9]{1,6}$'
        when key = 'payload' then value @? 'strict $ ? (@.type() == "array") ? (@.size() > 0 && @.size() <= 10)'
          and length(value::text) <= 20000
          and not exists (
            select from jsonb_array_elements(case jsonb_typeof(value) when 'array' then value else '[]' end) c
            where not coalesce(jsonb_typeof(c -> 'path') = 'array' and jsonb_typeof(c -> 'value') = 'string'
              and c -> 'path' @? 'strict $ ? (@.size() > 0 && @.size() <= 50)'
              and not c -> 'path' @? 'strict $[*] ? (@.type() <> "string")', false))
        when key = 'limit' then jsonb_typeof(value) = 'number' and value #>> '{}' ~ '^[1-9][0-9]{0,17}$'
        when key = 'all' then value = 'true'
        else jsonb_typeof(value) = 'string' and length(value #>> '{}') <= 60 end;
    if not fits then
      return format('%s: expected %s, got %s', key, expected,
        case when length(value::text) > 200 then left(value::text, 200) || '…' else value::text end);
    end if;
  end loop;
  if (filter ->> 'created_from')::timestamptz > (filter ->> 'created_to')::timestamptz then
    return format('created_to: %s is before created_from, %s: no time is between them', filter ->> 'created_to',
      filter ->> 'created_from');
  end if;
  if (filter ->> 'attempts_from')::integer > (filter ->> 'attempts_to')::integer then
    return format('attempts_to: %s is less than attempts_from, %s', filter ->> 'attempts_to',
      filter ->> 'attempts_from');
  end if;
  if filter ? 'all' and (filter - 'all' - 'limit') <> '{}' then
    return format('all: selects every job that %s can change; omit it, or omit %s', kind,
      (select string_agg(k, ' and ') from jsonb_object_keys(filter - 'all' - 'limit') k));
  end if;
  if (filter - 'limit') = '{}' then
    return format('filter: selects every job that %s can change; to confirm this, use {"all": true}', kind);
  end if;
  return null;
end $$;

-- The filter as an operation evaluates it: with the statuses that it changes, and `settled`, which says that a job must
-- have been in its state when the operation started. A filter without statuses cancels a job also if it was dispatched
-- since; an operation of any other kind, or with a filter on the state, changes no job whose state is newer.
create function millrace.meant_filter(kind text, filter jsonb) returns jsonb
  language sql immutable
  return jsonb_build_object('statuses',
      case kind when 'cancel' then array['pending', 'failed', 'dispatched', 'running']
        else millrace.operable_statuses(kind) end)
    || filter
    || jsonb_build_object('settled', kind <> 'cancel'
         or filter ?| array['statuses', 'error', 'group', 'attempts_from', 'attempts_to']);

-- Whether a job matched a filter of meant_filter at that time. The time at which a job got its status is known: an
-- attempt that reports its progress, for example, does not count as a change.
create function millrace.job_was_meant(
  filter jsonb, as_of timestamptz, id bigint, status text, job_type text, routing_key text, unique_key text,
  group_key text, last_error text, created_at timestamptz, updated_at timestamptz, dispatched_at timestamptz,
  started_at timestamptz, attempts integer, payload jsonb
) returns boolean
  language sql stable parallel safe
  return created_at <= as_of
    and (filter -> 'settled' = 'false'
      or as_of >= coalesce(case status when 'running' then started_at when 'dispatched' then dispatched_at end,
           updated_at))
    and millrace.job_matches(filter, id, status, job_type, routing_key, unique_key, group_key, last_error, created_at,
      attempts, payload);

-- The next jobs in the order of their ids that have one of the statuses, and possibly others: the rare statuses have
-- indexes, so that a step does not read millions of other jobs.
create function millrace.next_jobs(statuses jsonb, after_id bigint, until_id bigint, most integer)
  returns table (id bigint, slot smallint)
  language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
  set enable_seqscan = off set enable_bitmapscan = off set jit = off
  as $$
begin
  if statuses <@ '["succeeded", "skipped", "cancelled"]' then
    return query select j.id, j.slot from millrace.jobs_finished j
      where j.id > after_id and j.id <= until_id order by j.id limit most;
  elsif statuses <@ '["dead_letter"]' then
    return query select j.id, j.slot from millrace.jobs_live j
      where j.due_at is null and not j.in_flight and j.id > after_id and j.id <= until_id order by j.id limit most;
  elsif statuses <@ '["failed"]' then
    return query select j.id, j.slot from millrace.jobs_live j
      where j.next_retry_at is not null and j.id > after_id and j.id <= until_id order by j.id limit most;
  elsif statuses <@ '["dispatched", "running"]' then
    return query select f.id, f.slot
      from (select j.id, j.slot from millrace.jobs_live j where j.in_flight offset 0) f
      where f.id > after_id and f.id <= until_id order by f.id limit most;
  else
    return query select j.id, j.slot from millrace.jobs_live j
      where j.id > after_id and j.id <= until_id order by j.id limit most;
  end if;
end $$;

-- Which of these jobs were meant, in the order of their ids.
create function millrace.meant_jobs(filter jsonb, as_of timestamptz, job_ids bigint[], slots smallint[], most bigint)
  returns table (id bigint, status text, job_type text, routing_key text)
  language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
begin
  return query select j.id, j.status, j.job_type, j.routing_key from millrace.jobs j
    where j.slot = any(slots) and j.id = any(job_ids)
      and millrace.job_was_meant(filter, as_of, j.id, j.status, j.job_type, j.routing_key, j.unique_key, j.group_key,
        j.last_error, j.created_at, j.updated_at, j.dispatched_at, j.started_at, j.attempts, j.payload)
    order by j.id limit most;
end $$;

-- A part of the count for a dry run: the matching jobs among the next ones, by status and type, in how many jobs it
-- looked, and where the next part continues. The caller limits the number of parts.
create function millrace.count_jobs_by_filter(
  kind text, filter jsonb, as_of timestamptz, after_id bigint, until_id bigint, most integer
) returns table (looked integer, last_id bigint, counts jsonb)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  meant jsonb := millrace.meant_filter(kind, filter);
  ids bigint[];
  slots smallint[];
begin
  select coalesce(array_agg(n.id order by n.id), '{}'), coalesce(array_agg(distinct n.slot), '{}') into ids, slots
    from millrace.next_jobs(meant -> 'statuses', after_id, until_id, most) n;
  return query
    select cardinality(ids), ids[cardinality(ids)], coalesce((select jsonb_agg(c) from (
      select j.status, j.job_type, j.routing_key, count(*) as jobs
        from millrace.meant_jobs(meant, as_of, ids, slots, null) j group by 1, 2, 3) c), '[]');
end $$;

-- Starts an operation on the jobs that match now, or that matched at the time `as_of` of a dry run: a job that was
-- enqueued later, or that changed its state since, is not touched. The dispatcher does the work; with a rate, on that
-- many jobs a second. `change` is what reschedule sets: {"run_at": time or "now", "priority": 0 to 9}, or one of them.
-- `expected` is the number that a dry run counted, for the progress. Returns the id of the operation.
create function millrace.start_operation(
  kind text, filter jsonb, reason text default null, change jsonb default null, as_of timestamptz default null,
  rate_per_second double precision default null, expected bigint default null
) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  fault text;
  groups text[];
  operation_id bigint;
begin
  fault := case
    when millrace.operable_statuses(kind) is null then
      format('kind: expected cancel, retry, discard, delete or reschedule, got %s', coalesce(left(kind, 60), 'null'))
    when millrace.job_filter_fault(kind, filter) is not null then millrace.job_filter_fault(kind, filter)
    when length(reason) not between 1 and 500 then 'reason: expected 1 to 500 characters'
    when as_of > millrace.clock() then
      format('as_of: expected a time that has passed, such as that of a dry run, got %s', as_of)
    -- At the lowest rate, a job changes in 28 hours; Postgres cannot add the interval of a much lower one to a time.
    when not coalesce(rate_per_second between 0.00001 and 10000, true) then
      format('rate_per_second: expected 0.00001 to 10000 jobs a second, got %s', rate_per_second)
    else millrace.change_fault(kind, change) end;
  if fault is not null then
    raise exception 'start_operation: %', fault using errcode = 'invalid_parameter_value';
  end if;
  groups := array(select millrace.find_groups(filter ->> 'group'));
  if cardinality(groups) > 1 and groups[1] <> filter ->> 'group' then
    raise exception 'start_operation: group: more than one group begins with %: %', filter ->> 'group',
      array_to_string(groups, ', ') using errcode = 'invalid_parameter_value';
  end if;
  if groups <> '{}' then
    filter := filter || jsonb_build_object('group', groups[1]);
  end if;
  -- An operator may not delete single jobs either.
  if kind = 'delete' and not has_table_privilege(session_user, 'millrace.jobs_finished', 'delete') then
    raise exception 'start_operation: permission denied to delete jobs' using errcode = 'insufficient_privilege';
  end if;
  insert into millrace.operations (kind, filter, reason, change, as_of, rate_per_second, expected_count)
    values (start_operation.kind,
      filter || jsonb_build_object('until_id', (
        -- A sequence that was never asked shows the number that it will give first.
        select case when s.is_called then s.last_value else 0 end from millrace.job_ids s)),
      start_operation.reason, start_operation.change, coalesce(start_operation.as_of, millrace.clock()),
      start_operation.rate_per_second, least(start_operation.expected, (filter ->> 'limit')::bigint))
    returning id into operation_id;
  insert into millrace.audit_log (action, details)
    values (start_operation.kind || '_started', jsonb_strip_nulls(jsonb_build_object('operation', operation_id,
      'filter', filter, 'reason', reason, 'change', change, 'rate', rate_per_second)));
  return operation_id;
end $$;

-- Returns what is wrong with the change of an operation, or null.
create function millrace.change_fault(kind text, change jsonb) returns text
  language plpgsql stable set search_path = pg_catalog, pg_temp
  as $$
begin
  if kind <> 'reschedule' then
    return case when change is not null then format('change: only reschedule accepts a change, not %s', kind) end;
  end if;
  if coalesce(jsonb_typeof(change) <> 'object' or change - 'run_at' - 'priority' <> '{}' or change = '{}', true) then
    return 'change: expected {"run_at": "now"} or a time, {"priority": 0 to 9}, or both';
  end if;
  if change ? 'priority' and change ->> 'priority' !~ '^[0-9]$' then
    return format('priority: expected 0 to 9, got %s', left(change ->> 'priority', 60));
  end if;
  if change ? 'run_at' and change ->> 'run_at' is distinct from 'now' then
    if not coalesce(length(change ->> 'run_at') <= 64 and millrace.is_time(change ->> 'run_at'), false) then
      return format('run_at: expected "now" or a time with a time zone, such as "2026-01-31T12:00:00Z", got %s',
        left(change ->> 'run_at', 100));
    elsif (change ->> 'run_at')::timestamptz not between '0001-01-01 00:00:00+00' and '9999-12-30 00:00:00+00' then
      return format('run_at: expected a time in the years 1 to 9999, got %s', left(change ->> 'run_at', 100));
    end if;
  end if;
  return null;
end $$;

-- Locks those of the jobs that are still meant and have one of these statuses. Skips jobs that are locked.
create function millrace.lock_meant(o millrace.operations, job_ids bigint[], among text[]) returns bigint[]
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
begin
  return array(
    select l.id from (select unnest(job_ids) as id order by 1) w
      cross join lateral (
        select j.id from millrace.jobs_live j
          where j.id = w.id and j.status = any(among)
            and millrace.job_was_meant(o.filter, o.as_of, j.id, j.status, j.job_type, j.routing_key, j.unique_key,
              j.group_key, j.last_error, j.created_at, j.updated_at, j.dispatched_at, j.started_at, j.attempts,
              j.payload)
          for update skip locked) l);
end $$;

-- The event that an operation writes for each job that it changes.
create function millrace.audit_operation(o millrace.operations, job_ids bigint[]) returns void
  language sql set search_path = pg_catalog, pg_temp
  as $$
  insert into millrace.audit_log (actor, action, job_id, details)
    select o.requested_by, o.kind, w.id, jsonb_build_object('operation', o.id) || coalesce(o.change, '{}')
      from unnest(job_ids) as w(id)
$$;

-- Cancels jobs as millrace.cancel does: those that wait or are dead at once, those in flight by a request.
create function millrace.cancel_meant(o millrace.operations, job_ids bigint[]) returns bigint[]
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
declare
  waiting bigint[] := millrace.lock_meant(o, job_ids, array['pending', 'failed', 'dead_letter']);
  asked bigint[];
begin
  perform millrace.finish_cancelled(waiting, format('cancelled by %s in operation %s', o.requested_by, o.id));
  with flying as materialized (
    select j.id from millrace.jobs_live j
      where j.id = any(job_ids) and j.in_flight
        and millrace.job_was_meant(o.filter, o.as_of, j.id, j.status, j.job_type, j.routing_key, j.unique_key,
          j.group_key, j.last_error, j.created_at, j.updated_at, j.dispatched_at, j.started_at, j.attempts, j.payload)
  ), stored as (
    insert into millrace.cancel_requests (job_id, requested_by) select f.id, o.requested_by from flying f order by f.id
      on conflict do nothing returning job_id
  )
  select coalesce(array_agg(s.job_id), '{}') into asked from stored s;
  update millrace.job_joins g set cancelled_at = millrace.clock(), cancelled_by = o.requested_by
    where g.job_id = any(waiting || asked) and g.ended_at is null and g.cancelled_at is null;
  perform millrace.audit_operation(o, waiting || asked);
  return waiting || asked;
end $$;

-- Makes failed jobs due now, as millrace.retry does, and redrives dead ones that have a handler.
create function millrace.retry_meant(o millrace.operations, job_ids bigint[]) returns bigint[]
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
declare
  failed bigint[] := millrace.lock_meant(o, job_ids, array['failed']);
  dead bigint[] := array(
    select d.id from unnest(millrace.lock_meant(o, job_ids, array['dead_letter'])) as d(id)
      join millrace.jobs_live j on j.id = d.id
      where exists (select from millrace.handlers h where h.job_type = j.job_type and h.routing_key = j.routing_key));
begin
  with due as (
    update millrace.jobs_live j set next_retry_at = millrace.clock(), updated_at = millrace.clock()
      where j.id = any(failed) returning j.id, j.attempts, j.job_type
  ), remembered as (
    insert into millrace.job_attempts (job_id, attempt, outcome) select d.id, d.attempts, 'retried' from due d
  )
  insert into millrace.job_events (event, job_type, status, count)
    select 'manual_retry', d.job_type, 'failed', count(*) from due d group by d.job_type;
  perform millrace.audit_operation(o, failed);
  return failed || array(select r from millrace.redrive(dead, array_fill(null::bigint, array[cardinality(dead)]),
    format('operation %s of %s', o.id, o.requested_by)) r);
end $$;

create function millrace.discard_meant(o millrace.operations, job_ids bigint[]) returns bigint[]
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
declare
  dead bigint[] := millrace.lock_meant(o, job_ids, array['dead_letter']);
begin
  perform millrace.finish_cancelled(dead, format('discarded by %s in operation %s', o.requested_by, o.id));
  perform millrace.audit_operation(o, dead);
  return dead;
end $$;

-- Deletes finished jobs with their attempts.
create function millrace.delete_meant(o millrace.operations, job_ids bigint[]) returns bigint[]
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
declare
  gone bigint[];
begin
  with locked as materialized (
    select j.id from millrace.jobs_finished j
      where j.id = any(job_ids)
        and millrace.job_was_meant(o.filter, o.as_of, j.id, j.status, j.job_type, j.routing_key, j.unique_key,
          j.group_key, j.last_error, j.created_at, j.updated_at, j.dispatched_at, j.started_at, j.attempts, j.payload)
      for update skip locked
  ), deleted as (
    delete from millrace.jobs_finished j where j.id = any(array(select l.id from locked l)) returning j.id
  )
  select coalesce(array_agg(d.id), '{}') into gone from deleted d;
  delete from millrace.job_attempts a where a.job_id = any(gone);
  delete from millrace.cancel_requests c where c.job_id = any(gone);
  perform millrace.audit_operation(o, gone);
  return gone;
end $$;

-- The time that a reschedule sets; null for none.
create function millrace.operation_time(o millrace.operations) returns timestamptz
  language sql stable set search_path = pg_catalog, pg_temp
  as $$
  select case o.change ->> 'run_at' when 'now' then millrace.clock() else (o.change ->> 'run_at')::timestamptz end
$$;

-- Gives waiting jobs another time, priority or both. A job that waits for its children has no time yet, and one that
-- must start earlier than the new time would be skipped: both are left.
create function millrace.reschedule_meant(o millrace.operations, job_ids bigint[]) returns bigint[]
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
declare
  new_time timestamptz := millrace.operation_time(o);
  waiting bigint[] := array(
    select j.id from unnest(millrace.lock_meant(o, job_ids, array['pending', 'failed'])) as w(id)
      join millrace.jobs_live j on j.id = w.id
      where new_time is null
        or coalesce(j.hold_until < timestamptz '9999-12-31 00:00:00+00', true)
          and coalesce(j.start_by >= new_time, true));
begin
  update millrace.jobs_live j
    set run_at = case j.status when 'pending' then coalesce(new_time, j.run_at) else j.run_at end,
        next_retry_at = case j.status when 'failed' then coalesce(new_time, j.next_retry_at) end,
        priority = coalesce((o.change ->> 'priority')::smallint, j.priority), updated_at = millrace.clock()
    where j.id = any(waiting);
  perform millrace.audit_operation(o, waiting);
  return waiting;
end $$;

-- Changes jobs, and returns those that were changed. A job that the database refuses to change, for example by a
-- trigger of the application, does not keep the others from their change. An error that another transaction caused
-- fails the step, which the dispatcher repeats.
create function millrace.change_meant(
  o millrace.operations, job_ids bigint[], out changed bigint[], out refused bigint[]
)
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
declare
  one record;
  job_id bigint;
begin
  refused := '{}';
  changed := case o.kind
    when 'cancel' then millrace.cancel_meant(o, job_ids)
    when 'retry' then millrace.retry_meant(o, job_ids)
    when 'discard' then millrace.discard_meant(o, job_ids)
    when 'delete' then millrace.delete_meant(o, job_ids)
    when 'reschedule' then millrace.reschedule_meant(o, job_ids) end;
exception when others then
  changed := '{}';
  if sqlstate in ('40001', '40P01', '55P03') then
    raise;
  elsif cardinality(job_ids) = 1 then
    refused := job_ids;
  else
    foreach job_id in array job_ids loop
      select * into one from millrace.change_meant(o, array[job_id]);
      changed := changed || one.changed;
      refused := refused || one.refused;
    end loop;
  end if;
end $$;

-- Why an operation did not change jobs: a word for each. A job that is no longer meant has changed.
create function millrace.why_left(o millrace.operations, job_ids bigint[]) returns table (id bigint, why text)
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
begin
  return query
    select w.id, case
        when j.id is null then 'changed'
        when o.kind = 'cancel' and j.in_flight then 'requested_before'
        when o.kind = 'retry' and j.status = 'dead_letter' and not exists (select from millrace.handlers h
          where h.job_type = j.job_type and h.routing_key = j.routing_key) then 'no_handler'
        when o.change ? 'run_at' and j.hold_until >= timestamptz '9999-12-31 00:00:00+00' then 'waits_for_children'
        when o.change ? 'run_at' and j.start_by < millrace.operation_time(o) then 'must_start_earlier'
        else 'locked' end
      from unnest(job_ids) as w(id)
      left join lateral (
        select * from millrace.jobs m
          where m.id = w.id and (m.slot = 0) = (o.kind <> 'delete')
            and millrace.job_was_meant(o.filter, o.as_of, m.id, m.status, m.job_type, m.routing_key, m.unique_key,
              m.group_key, m.last_error, m.created_at, m.updated_at, m.dispatched_at, m.started_at, m.attempts,
              m.payload)
      ) j on true;
end $$;

-- Adds up two objects of counts.
create function millrace.add_counts(one jsonb, other jsonb) returns jsonb
  language sql immutable
  begin atomic
  select coalesce(jsonb_object_agg(s.key, s.sum), '{}')
    from (select e.key, sum(e.value::bigint) from (
            select * from jsonb_each_text(one) union all select * from jsonb_each_text(other)) e
            group by e.key order by e.key) s;
  end;

-- Changes the next jobs of an operation: up to `most`, as its rate and limit allow, among the next 5000 jobs, so that a
-- step is short even if nothing matches. Returns its row. Does not wait for a step that another transaction is running.
-- Jobs whose rows are locked are tried again after the others, and left when none was changed for a minute. The step
-- stores its position with its changes, so that each job is changed once, whatever ends the process.
create function millrace.step_operation(operation_id bigint, most integer) returns setof millrace.operations
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  window_size constant integer := 5000;
  most_locked constant integer := 1000;
  o millrace.operations;
  allowed bigint := most;
  earned_from timestamptz;
  ids bigint[] := '{}';
  slots smallint[];
  tried bigint[];
  returns_to_locked boolean;
  changed bigint[] := '{}';
  refused bigint[] := '{}';
  locked bigint[];
  counts jsonb;
  former_actor text := coalesce(current_setting('millrace.actor', true), '');
begin
  select * into o from millrace.operations p
    where p.id = operation_id and p.status = 'running' for update skip locked;
  if not found or o.kind = 'redrive' then
    return query select * from millrace.step_redrive(operation_id, most);
    return;
  end if;
  o.filter := millrace.meant_filter(o.kind, o.filter);
  -- The rate as in step_redrive.
  earned_from := least(millrace.clock(),
    greatest(o.stepped_at, millrace.clock() - make_interval(secs => greatest(5, 1 / o.rate_per_second))));
  allowed := greatest(0, least(allowed, floor(o.rate_per_second * extract(epoch from millrace.clock() - earned_from)),
    (o.filter ->> 'limit')::bigint - o.done_count));
  if cardinality(o.locked_ids) < most_locked then
    select coalesce(array_agg(n.id order by n.id), '{}'), array_agg(distinct n.slot) into ids, slots
      from millrace.next_jobs(o.filter -> 'statuses', o.cursor_id, (o.filter ->> 'until_id')::bigint, window_size) n;
  end if;
  returns_to_locked := ids = '{}';
  tried := case when returns_to_locked then o.locked_ids[:allowed]
    else array(select m.id from millrace.meant_jobs(o.filter, o.as_of, ids, slots, allowed) m) end;
  if tried <> '{}' then
    -- What the functions of a single job write names the one who started the operation, not the dispatcher.
    perform set_config('millrace.actor', o.requested_by, true);
    select c.changed, c.refused into changed, refused from millrace.change_meant(o, tried) c;
    perform set_config('millrace.actor', former_actor, true);
  end if;
  with w as materialized (
    select * from millrace.why_left(o, array(
      select t from unnest(tried) t except select c from unnest(changed || refused) c))
  )
  select coalesce(array_agg(w.id order by w.id) filter (where w.why = 'locked'), '{}'),
         (select coalesce(jsonb_object_agg(s.why, s.jobs), '{}')
            from (select v.why, count(*) as jobs from w v where v.why <> 'locked' group by v.why) s)
    into locked, counts from w;
  if refused <> '{}' then
    counts := counts || jsonb_build_object('refused', cardinality(refused));
  end if;
  update millrace.operations u
    set done_count = o.done_count + cardinality(changed), left_counts = millrace.add_counts(o.left_counts, counts),
        cursor_id = case when returns_to_locked then o.cursor_id
          when cardinality(tried) < allowed then ids[cardinality(ids)]
          else coalesce(tried[cardinality(tried)], o.cursor_id) end,
        locked_ids = case when returns_to_locked then o.locked_ids[allowed + 1:] else o.locked_ids end || locked,
        locked_since = case when returns_to_locked and changed = '{}'
          then coalesce(o.locked_since, millrace.clock()) end,
        stepped_at = coalesce(earned_from + make_interval(secs => cardinality(tried) / o.rate_per_second),
          millrace.clock()),
        updated_at = millrace.clock()
    where u.id = o.id
    returning * into o;
  if o.done_count >= (o.filter ->> 'limit')::bigint
    or returns_to_locked and cardinality(o.locked_ids) < most_locked
      and (o.locked_ids = '{}' or o.locked_since < millrace.clock() - interval '1 minute') then
    perform millrace.end_operation(o);
  elsif o.locked_since < millrace.clock() - interval '1 minute' then
    -- Too many jobs are locked for the walk to continue without leaving them.
    update millrace.operations u
      set left_counts = millrace.add_counts(o.left_counts, jsonb_build_object('locked', cardinality(o.locked_ids))),
          locked_ids = '{}', locked_since = null
      where u.id = o.id;
  end if;
  return query select * from millrace.operations p where p.id = operation_id;
end $$;

-- Ends an operation that has examined all jobs or reached its limit. A job that was expected, and that no step saw, has
-- changed since.
create function millrace.end_operation(o millrace.operations) returns void
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
declare
  counts jsonb := o.left_counts;
  unseen bigint;
begin
  if o.locked_ids <> '{}' then
    counts := millrace.add_counts(counts, jsonb_build_object('locked', cardinality(o.locked_ids)));
  end if;
  unseen := o.expected_count - o.done_count - (select coalesce(sum(c.value::bigint), 0) from jsonb_each_text(counts) c);
  if unseen > 0 then
    counts := millrace.add_counts(counts, jsonb_build_object('changed', unseen));
  end if;
  update millrace.operations u
    set status = 'done', finished_at = millrace.clock(), left_counts = counts, locked_ids = '{}', locked_since = null
    where u.id = o.id;
end $$;

-- Pauses a running operation, or resumes a paused one. Returns false in any other state.
create function millrace.set_operation_paused(operation_id bigint, paused boolean) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  found_kind text;
begin
  update millrace.operations o
    set status = case when paused then 'paused' else 'running' end, updated_at = millrace.clock(),
        stepped_at = greatest(o.stepped_at, case when not paused then millrace.clock() end), locked_since = null
    where o.id = operation_id and o.status = case when paused then 'running' else 'paused' end
    returning o.kind into found_kind;
  if not found then
    return false;
  end if;
  insert into millrace.audit_log (action, details)
    values (found_kind || case when paused then '_paused' else '_resumed' end,
      jsonb_build_object('operation', operation_id));
  return true;
end $$;

create function millrace.pause_operation(operation_id bigint) returns boolean
  language sql set search_path = pg_catalog, pg_temp
  as $$ select millrace.set_operation_paused(operation_id, true) $$;

create function millrace.resume_operation(operation_id bigint) returns boolean
  language sql set search_path = pg_catalog, pg_temp
  as $$ select millrace.set_operation_paused(operation_id, false) $$;

-- Ends an operation; what it has changed stays changed. Returns false if it has already ended.
create function millrace.cancel_operation(operation_id bigint) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  found_kind text;
begin
  if exists (select from millrace.operations o where o.id = operation_id and o.kind = 'redrive') then
    return millrace.cancel_redrive(operation_id);
  end if;
  update millrace.operations o
    set status = 'cancelled', finished_at = millrace.clock(), updated_at = millrace.clock()
    where o.id = operation_id and o.status in ('running', 'paused')
    returning o.kind into found_kind;
  if not found then
    return false;
  end if;
  insert into millrace.audit_log (action, details)
    values (found_kind || '_cancelled', jsonb_build_object('operation', operation_id));
  return true;
end $$;

revoke execute on function
  millrace.payload_matches(jsonb, jsonb), millrace.job_group(bigint),
  millrace.job_matches(jsonb, bigint, text, text, text, text, text, text, timestamptz, integer, jsonb),
  millrace.operable_statuses(text), millrace.job_filter_fault(text, jsonb), millrace.meant_filter(text, jsonb),
  millrace.job_was_meant(jsonb, timestamptz, bigint, text, text, text, text, text, text, timestamptz, timestamptz,
    timestamptz, timestamptz, integer, jsonb),
  millrace.next_jobs(jsonb, bigint, bigint, integer),
  millrace.meant_jobs(jsonb, timestamptz, bigint[], smallint[], bigint),
  millrace.count_jobs_by_filter(text, jsonb, timestamptz, bigint, bigint, integer),
  millrace.start_operation(text, jsonb, text, jsonb, timestamptz, double precision, bigint),
  millrace.change_fault(text, jsonb), millrace.lock_meant(millrace.operations, bigint[], text[]),
  millrace.audit_operation(millrace.operations, bigint[]), millrace.cancel_meant(millrace.operations, bigint[]),
  millrace.retry_meant(millrace.operations, bigint[]), millrace.discard_meant(millrace.operations, bigint[]),
  millrace.delete_meant(millrace.operations, bigint[]), millrace.operation_time(millrace.operations),
  millrace.reschedule_meant(millrace.operations, bigint[]), millrace.change_meant(millrace.operations, bigint[]),
  millrace.why_left(millrace.operations, bigint[]), millrace.add_counts(jsonb, jsonb),
  millrace.step_operation(bigint, integer), millrace.end_operation(millrace.operations),
  millrace.set_operation_paused(bigint, boolean), millrace.pause_operation(bigint), millrace.resume_operation(bigint),
  millrace.cancel_operation(bigint) from public;
grant execute on function millrace.payload_matches(jsonb, jsonb), millrace.job_group(bigint),
  millrace.job_filter_fault(text, jsonb),
  millrace.job_matches(jsonb, bigint, text, text, text, text, text, text, timestamptz, integer, jsonb),
  millrace.count_jobs_by_filter(text, jsonb, timestamptz, bigint, bigint, integer),
  millrace.start_operation(text, jsonb, text, jsonb, timestamptz, double precision, bigint),
  millrace.step_operation(bigint, integer), millrace.set_operation_paused(bigint, boolean),
  millrace.pause_operation(bigint), millrace.resume_operation(bigint), millrace.cancel_operation(bigint)
  to millrace_operator, millrace_runtime;
