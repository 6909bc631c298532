-- Redrive by filter: what matches, and a redrive that is worked off step by step.

-- The open dead letters that a filter means, for every door. Its keys, all optional: job_types, routing_key, job_ids,
-- since (a time), error (a part of its text, whatever the case), group (the beginning of a fingerprint), until_id.
create function millrace.matching_dead_letters(filter jsonb) returns setof millrace.dead_letters
  language sql stable
  as $$
  select d.* from millrace.dead_letters d
    where d.status = 'open'
      and (filter -> 'job_types' is null
        or d.job_type in (select jsonb_array_elements_text(filter -> 'job_types')))
      and (filter -> 'routing_key' is null or d.routing_key = filter ->> 'routing_key')
      and (filter -> 'job_ids' is null
        or d.job_id in (select jsonb_array_elements_text(filter -> 'job_ids')::bigint))
      and (filter -> 'since' is null or d.died_at >= (filter ->> 'since')::timestamptz)
      and (filter -> 'error' is null or position(lower(filter ->> 'error') in lower(d.last_error)) > 0)
      and (filter -> 'group' is null or starts_with(d.fingerprint, filter ->> 'group'))
      and (filter -> 'until_id' is null or d.id <= (filter ->> 'until_id')::bigint)
$$;

-- Those of them that a redrive can move: of a job that is dead and has a handler.
create function millrace.redrivable_dead_letters(filter jsonb) returns setof millrace.dead_letters
  language sql stable
  as $$
  select d.* from millrace.matching_dead_letters(filter) d
    where exists (select from millrace.jobs_live j where j.id = d.job_id and j.status = 'dead_letter')
      and exists (select from millrace.handlers h where h.job_type = d.job_type and h.routing_key = d.routing_key)
$$;

-- Whether a text is a time that there is, which a cast finds out by failing.
create function millrace.is_time(value text) returns boolean
  language plpgsql stable
  as $$
begin
  return value ~ '^\d{4}-\d\d-\d\d' and value::timestamptz is not null;
exception when others then
  return false;
end $$;

-- What is wrong with the filter of a redrive, or null. Nothing means everything by leaving something out.
create function millrace.redrive_filter_fault(filter jsonb) returns text
  language plpgsql stable
  as $$
declare
  key text;
  value jsonb;
  expected text;
  fits boolean;
begin
  if filter is null or jsonb_typeof(filter) <> 'object' then
    return format('filter: expected an object such as {"job_types": ["send_reminder"]} or {"all": true}, got %s',
      coalesce(filter::text, 'null'));
  end if;
  for key, value in select * from jsonb_each(filter) loop
    expected := case key
      when 'job_types' then 'an array of job types'
      when 'job_ids' then 'an array of jobs'' ids, at most 100000'
      when 'routing_key' then 'a text'
      when 'error' then 'a part of the error''s text, of 1 to 500 characters'
      when 'group' then 'the beginning of a fingerprint, such as "5f65afc7"'
      when 'since' then 'a time such as "2026-01-31T12:00:00Z"'
      when 'limit' then 'a whole number of jobs, at least 1 and without quotes'
      when 'all' then 'true, or leave it out' end;
    if expected is null then
      return format('%s: unknown key; the keys are job_types, job_ids, routing_key, error, group, since, limit and all', key);
    end if;
    fits := case
        when key = 'job_types' then value @? 'strict $ ? (@.type() == "array")'
          and not value @? 'strict $[*] ? (@.type() <> "string")'
        when key = 'job_ids' then value @? 'strict $ ? (@.type() == "array") ? (@.size() <= 100000)' and not exists (
          select from jsonb_array_elements(case jsonb_typeof(value) when 'array' then value else '[]' end) e
            where case when e #>> '{}' ~ '^[0-9]{1,19}$' then (e #>> '{}')::numeric > 9223372036854775807 else true end)
        when key = 'limit' then jsonb_typeof(value) = 'number' and value #>> '{}' ~ '^[1-9][0-9]{0,17}$'
        when key = 'all' then value = 'true'
        when key = 'since' then jsonb_typeof(value) = 'string' and millrace.is_time(value #>> '{}')
        when key = 'error' then jsonb_typeof(value) = 'string' and length(value #>> '{}') <= 500
          and value #>> '{}' ~ '\S'
        when key = 'group' then jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[0-9a-f]{1,64}$'
        else jsonb_typeof(value) = 'string' end;
    if not fits then
      return format('%s: expected %s, got %s', key, expected,
        case when length(value::text) > 200 then left(value::text, 200) || '…' else value::text end);
    end if;
  end loop;
  if filter ? 'all' and (filter - 'all' - 'limit') <> '{}' then
    return format('all: this means every dead letter; leave it out, or %s',
      (select string_agg(k, ' and ') from jsonb_object_keys(filter - 'all' - 'limit') k));
  end if;
  if not filter ?| array['job_types', 'job_ids', 'routing_key', 'error', 'group', 'since', 'all'] then
    return 'filter: this means every dead letter; if that is wanted, say so with {"all": true}';
  end if;
  return null;
end $$;

-- Begins a redrive of what matches now; what dies later is not touched. With a rate the dispatcher works it off, at so
-- many jobs a second; without one whoever calls step_redrive, or the dispatcher in its next round. Beside the keys of
-- matching_dead_letters the filter knows `limit`, the most jobs, and `all`, true when nothing else is said.
create function millrace.start_redrive(filter jsonb, rate_per_second double precision default null) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  fault text := millrace.redrive_filter_fault(filter);
  meant jsonb;
  operation_id bigint;
begin
  if fault is not null then
    raise exception 'start_redrive: %', fault using errcode = 'invalid_parameter_value';
  end if;
  if not coalesce(rate_per_second > 0 and rate_per_second <= 10000, true) then
    raise exception 'start_redrive: rate_per_second: expected more than 0 and at most 10000 jobs a second, got %',
      rate_per_second using errcode = 'invalid_parameter_value';
  end if;
  meant := filter || jsonb_build_object('until_id', (select coalesce(max(id), 0) from millrace.dead_letters));
  insert into millrace.operations (kind, filter, rate_per_second, expected_count)
    select 'redrive', meant, start_redrive.rate_per_second, least(count(*), (filter ->> 'limit')::bigint)
      from millrace.redrivable_dead_letters(meant)
    returning id into operation_id;
  insert into millrace.audit_log (action, details)
    values ('redrive_started', jsonb_build_object('operation', operation_id, 'filter', filter, 'rate', rate_per_second));
  return operation_id;
end $$;

-- Moves the next jobs of a redrive: up to `most`, as its rate and its limit allow. Answers how it stands; a step that
-- somebody else is making is not waited for.
create function millrace.step_redrive(operation_id bigint, most integer) returns setof millrace.operations
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  o millrace.operations;
  picked record;
  allowed bigint := most;
  room bigint;
  earned_from timestamptz;
  moved bigint := 0;
begin
  select * into o from millrace.operations
    where id = operation_id and kind = 'redrive' and status = 'running' for update skip locked;
  if found then
    -- What a break kept from moving does not come in one burst: it makes up for five seconds, or for one job.
    earned_from := greatest(o.stepped_at, millrace.clock() - make_interval(secs => greatest(5, 1 / o.rate_per_second)));
    allowed := least(allowed, floor(o.rate_per_second * extract(epoch from millrace.clock() - earned_from)));
    room := (o.filter ->> 'limit')::bigint - o.done_count;
    select count(*) as jobs, max(d.id) as last_id, array_agg(d.job_id) as job_ids, array_agg(d.claim_no) as claim_nos
      into picked
      from (select * from millrace.redrivable_dead_letters(o.filter) r where r.id > o.cursor_id
              order by r.id limit least(allowed, room)) d;
    if picked.jobs > 0 then
      moved := (select count(*) from millrace.redrive(picked.job_ids, picked.claim_nos,
        format('redrive %s of %s', o.id, o.requested_by)));
    end if;
    update millrace.operations u
      set done_count = o.done_count + moved, updated_at = millrace.clock(),
          cursor_id = coalesce(picked.last_id, case when allowed > 0 then 0 else o.cursor_id end),
          stepped_at = coalesce(earned_from + make_interval(secs => picked.jobs / o.rate_per_second), millrace.clock())
      where u.id = o.id;
    -- At the end of the walk all that can be moved has been, but for rows that somebody held: another walk.
    if room - moved <= 0 or (picked.jobs = 0 and allowed > 0 and o.cursor_id = 0) then
      update millrace.operations u
        set status = 'done', finished_at = millrace.clock(),
            skipped_count = (select count(*) from millrace.matching_dead_letters(o.filter))
        where u.id = o.id;
    end if;
  end if;
  return query select * from millrace.operations u where u.id = operation_id;
end $$;

-- Ends a redrive: what was moved stays moved. False when it was not running.
create function millrace.cancel_redrive(operation_id bigint) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
begin
  update millrace.operations o set status = 'cancelled', finished_at = millrace.clock(), updated_at = millrace.clock()
    where o.id = operation_id and o.kind = 'redrive' and o.status = 'running';
  if not found then
    return false;
  end if;
  insert into millrace.audit_log (action, details)
    values ('redrive_cancelled', jsonb_build_object('operation', operation_id));
  return true;
end $$;

revoke execute on function millrace.matching_dead_letters(jsonb), millrace.redrivable_dead_letters(jsonb),
  millrace.is_time(text), millrace.redrive_filter_fault(jsonb), millrace.start_redrive(jsonb, double precision),
  millrace.step_redrive(bigint, integer), millrace.cancel_redrive(bigint) from public;
grant execute on function millrace.matching_dead_letters(jsonb), millrace.redrivable_dead_letters(jsonb),
  millrace.start_redrive(jsonb, double precision), millrace.step_redrive(bigint, integer),
  millrace.cancel_redrive(bigint) to millrace_operator, millrace_runtime;
