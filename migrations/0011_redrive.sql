-- How dead jobs become pending again: one statement for all methods, and redrives by filter.

-- The redrive of single jobs: a job that is dead_letter under this claim becomes pending with fresh attempts. A null
-- claim matches any. A second redrive finds nothing to do and returns no row. A suspect stays one: what killed its
-- process once may do so again, and fail the other jobs of the batch.
create function millrace.redrive(job_ids bigint[], claim_nos bigint[], door text) returns setof bigint
  language sql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_mergejoin = off set jit = off
  as $$
  with wanted as materialized (
    select j.id, j.claim_no, j.job_type, j.attempts
      from (select * from unnest(job_ids, claim_nos) as u(id, claim_no) order by id) w
      cross join lateral (
        select k.id, k.claim_no, k.job_type, k.attempts from millrace.jobs_live k
          where k.id = w.id and k.status = 'dead_letter' and (w.claim_no is null or w.claim_no = k.claim_no)
          for update skip locked
      ) j
  ), revived as (
    update millrace.jobs_live j
      set status = 'pending', run_at = millrace.clock(), hold_until = null, attempts = 0, losses = 0,
          updated_at = millrace.clock()
      where j.id = any(array(select w.id from wanted w))
      returning j.id
  ), mirrored as (
    update millrace.dead_letters d
      set status = 'redriven', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = door
      where d.job_id = any(array(select w.id from wanted w)) and d.status = 'open'
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

-- Makes a job due now. Returns 'redriven' (it was dead and has fresh attempts), 'due' (it had failed and no longer
-- waits), 'busy' (another transaction has locked its row: call again), 'not_dead' (any other state) or 'not_found'.
create function millrace.retry(id bigint) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_mergejoin = off set jit = off
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

-- Long work that the dispatcher does step by step: a redrive, or another change of many jobs (0018). Kept for 90 days.
create table millrace.operations (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('redrive', 'cancel', 'retry', 'discard', 'delete', 'reschedule')),
  filter jsonb not null,
  -- Why the caller started it, for other people.
  reason text,
  -- What a reschedule sets.
  change jsonb,
  -- Jobs that were enqueued or changed later are not touched. A redrive has the newest dead letter in its filter instead.
  as_of timestamptz not null default millrace.clock(),
  rate_per_second double precision check (rate_per_second between 0.00001 and 10000),
  status text not null default 'running' check (status in ('running', 'paused', 'done', 'cancelled')),
  -- The current walk over the dead letters or jobs: the last one that a step examined, and how many jobs it could not
  -- move, because their rows were locked.
  cursor_id bigint not null default 0,
  walk_locked bigint not null default 0,
  -- How many jobs matched at the start; null if they were not counted.
  expected_count bigint default 0,
  done_count bigint not null default 0,
  -- Dead letters that match and that this walk did not move: strays, without a handler, or locked.
  skipped_count bigint not null default 0,
  -- The same for jobs: their numbers by reason, and those whose rows were locked, since when, to which steps return.
  left_counts jsonb not null default '{}',
  locked_ids bigint[] not null default '{}',
  locked_since timestamptz,
  -- The rate is used up until this time.
  stepped_at timestamptz not null default millrace.clock(),
  requested_by text not null default millrace.actor(),
  created_at timestamptz not null default millrace.clock(),
  updated_at timestamptz not null default millrace.clock(),
  finished_at timestamptz
);

-- Redrive by filter: what matches, and a redrive that the dispatcher processes step by step.

-- The open dead letters that match a filter, for all methods. Its keys, all optional: job_types, routing_key, job_ids,
-- since and until (times), error (part of its text, case-insensitive), group (at least the first 4 characters of a fingerprint),
-- until_id.
create function millrace.matching_dead_letters(filter jsonb) returns setof millrace.dead_letters
  language sql stable
  begin atomic
  select d.* from millrace.dead_letters d
    where d.status = 'open'
      and (filter -> 'job_types' is null
        or d.job_type in (select jsonb_array_elements_text(filter -> 'job_types')))
      and (filter -> 'routing_key' is null or d.routing_key = filter ->> 'routing_key')
      and (filter -> 'job_ids' is null
        or d.job_id in (select jsonb_array_elements_text(filter -> 'job_ids')::bigint))
      and (filter -> 'since' is null or d.died_at >= (filter ->> 'since')::timestamptz)
      and (filter -> 'until' is null or d.died_at <= (filter ->> 'until')::timestamptz)
      and (filter -> 'error' is null or position(lower(filter ->> 'error') in lower(d.last_error)) > 0)
      and (filter -> 'group' is null or starts_with(d.fingerprint, filter ->> 'group'))
      and (filter -> 'until_id' is null or d.id <= (filter ->> 'until_id')::bigint);
  end;

-- The matching dead letters that a redrive can move: those with a job and a handler. An open dead letter of a job means
-- that the job is dead, because each transition changes both; step_redrive and redrive compare them once more.
create function millrace.redrivable_dead_letters(filter jsonb) returns setof millrace.dead_letters
  language sql stable
  begin atomic
  select d.* from millrace.matching_dead_letters(filter) d
    where d.job_id is not null
      and exists (select from millrace.handlers h where h.job_type = d.job_type and h.routing_key = d.routing_key);
  end;

-- Up to six groups of open dead letters: the fingerprints that begin with these characters.
create function millrace.find_groups(beginning text) returns setof text
  language sql stable
  begin atomic
  select distinct d.fingerprint from millrace.dead_letters d
    where d.status = 'open' and starts_with(d.fingerprint, beginning) order by d.fingerprint limit 6;
  end;

-- Returns whether text is a valid time with a time zone: the cast of an invalid time fails, and each session reads a
-- time without a zone in its own.
create function millrace.is_time(value text) returns boolean
  language plpgsql stable set search_path = pg_catalog, pg_temp
  as $$
begin
  return value ~* '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*(Z|[+-]\d\d(:?\d\d)?)$' and value::timestamptz is not null;
exception when others then
  return false;
end $$;

-- Returns what is wrong with the filter of a redrive, or null. An empty filter is refused: it must not mean everything.
create function millrace.redrive_filter_fault(filter jsonb) returns text
  language plpgsql stable set search_path = pg_catalog, pg_temp
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
      when 'job_types' then 'an array of job types, at most 1000'
      when 'job_ids' then 'an array of jobs'' ids, at most 100000'
      when 'routing_key' then 'a string of at most 60 characters'
      when 'error' then 'a part of the error text, of 1 to 500 characters'
      when 'group' then 'at least the first 4 characters of a fingerprint, such as "5f65afc7"'
      when 'since' then 'a time with a time zone, such as "2026-01-31T12:00:00Z"'
      when 'until' then 'a time with a time zone, such as "2026-01-31T12:00:00Z"'
      when 'limit' then 'a whole number of jobs, at least 1 and without quotes'
      when 'all' then 'true, or omit the key' end;
    if expected is null then
      return format('%s: unknown key; the keys are job_types, job_ids, routing_key, error, group, since, until, limit and all',
        key);
    end if;
    fits := case
        when key = 'job_types' then value @? 'strict $ ? (@.type() == "array") ? (@.size() <= 1000)'
          and not value @? 'strict $[*] ? (@.type() <> "string" || !(@ like_regex "^.{0,60}$"))'
        when key = 'job_ids' then value @? 'strict $ ? (@.type() == "array") ? (@.size() <= 100000)' and not exists (
          select from jsonb_array_elements(case jsonb_typeof(value) when 'array' then value else '[]' end) e
            where case when e #>> '{}' ~ '^[0-9]{1,19}$' then (e #>> '{}')::numeric > 9223372036854775807 else true end)
        when key = 'limit' then jsonb_typeof(value) = 'number' and value #>> '{}' ~ '^[1-9][0-9]{0,17}$'
        when key = 'all' then value = 'true'
        when key in ('since', 'until') then jsonb_typeof(value) = 'string' and length(value #>> '{}') <= 64
          and millrace.is_time(value #>> '{}')
        when key = 'error' then jsonb_typeof(value) = 'string' and length(value #>> '{}') <= 500
          and value #>> '{}' ~ '\S'
        when key = 'group' then jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[0-9a-f]{4,64}$'
        else jsonb_typeof(value) = 'string' and length(value #>> '{}') <= 60 end;
    if not fits then
      return format('%s: expected %s, got %s', key, expected,
        case when length(value::text) > 200 then left(value::text, 200) || '…' else value::text end);
    end if;
  end loop;
  if (filter ->> 'since')::timestamptz > (filter ->> 'until')::timestamptz then
    return format('until: %s is before since, %s: no time is between them', filter ->> 'until', filter ->> 'since');
  end if;
  if filter ? 'all' and (filter - 'all' - 'limit') <> '{}' then
    return format('all: selects every dead letter; omit it, or omit %s',
      (select string_agg(k, ' and ') from jsonb_object_keys(filter - 'all' - 'limit') k));
  end if;
  if not filter ?| array['job_types', 'job_ids', 'routing_key', 'error', 'group', 'since', 'until', 'all'] then
    return 'filter: selects every dead letter; to confirm this, use {"all": true}';
  end if;
  return null;
end $$;

-- Starts a redrive of the dead letters that match now; later deaths are not included. With a rate, the dispatcher moves
-- that many jobs a second; without one, the caller of step_redrive does it at once, or the dispatcher in its next
-- round. Besides the keys of matching_dead_letters, the filter accepts `limit`, the most jobs, and `all`: true, alone.
-- A group is one group: its beginning is replaced by the whole fingerprint, and an ambiguous one is refused.
create function millrace.start_redrive(filter jsonb, rate_per_second double precision default null) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  fault text := millrace.redrive_filter_fault(filter);
  groups text[] := array(select millrace.find_groups(filter ->> 'group'));
  meant jsonb;
  operation_id bigint;
begin
  if fault is not null then
    raise exception 'start_redrive: %', fault using errcode = 'invalid_parameter_value';
  end if;
  -- At the lowest rate, a job moves in 28 hours; Postgres cannot add the interval of a much lower one to a time.
  if not coalesce(rate_per_second between 0.00001 and 10000, true) then
    raise exception 'start_redrive: rate_per_second: expected 0.00001 to 10000 jobs a second, got %',
      rate_per_second using errcode = 'invalid_parameter_value';
  end if;
  if cardinality(groups) > 1 and groups[1] <> filter ->> 'group' then
    raise exception 'start_redrive: group: more than one group begins with %: %', filter ->> 'group',
      array_to_string(groups, ', ') using errcode = 'invalid_parameter_value';
  end if;
  if groups <> '{}' then
    filter := filter || jsonb_build_object('group', groups[1]);
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

-- Moves the next jobs of a redrive: up to `most`, as its rate and limit allow, among the next 20,000 open dead letters,
-- so that a step is short even if nothing matches. Returns its row. Does not wait for a step that another transaction
-- is running.
create function millrace.step_redrive(operation_id bigint, most integer) returns setof millrace.operations
  -- A kept plan would read the ids of a filter again for each dead letter.
  language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
declare
  window_size constant integer := 20000;
  o millrace.operations;
  looked record;
  picked record;
  allowed bigint := most;
  earned_from timestamptz;
  walked_to bigint;
  is_full boolean;
  moved bigint := 0;
  unmoved bigint;
begin
  select * into o from millrace.operations
    where id = operation_id and kind = 'redrive' and status = 'running' for update skip locked;
  if found then
    -- After a break, the redrive makes up for at most five seconds, or one job, so that no burst follows. A step in the
    -- future was made before the clock was set back, or has just ended: the rate is counted from now on.
    earned_from := least(millrace.clock(),
      greatest(o.stepped_at, millrace.clock() - make_interval(secs => greatest(5, 1 / o.rate_per_second))));
    -- At its limit, a redrive only counts the rest.
    is_full := coalesce(o.done_count >= (o.filter ->> 'limit')::bigint, false);
    allowed := least(allowed, floor(o.rate_per_second * extract(epoch from millrace.clock() - earned_from)),
      (o.filter ->> 'limit')::bigint - o.done_count);
    select count(*) as rows, coalesce(max(w.id), o.cursor_id) as last_id into looked
      from (select d.id from millrace.dead_letters d
              where d.status = 'open' and d.id > o.cursor_id and d.id <= (o.filter ->> 'until_id')::bigint
              order by d.id limit window_size) w;
    select count(*) as jobs, max(d.id) as last_id, array_agg(d.job_id) as job_ids, array_agg(d.claim_no) as claim_nos
      into picked
      from (select * from millrace.redrivable_dead_letters(o.filter) r
              where r.id > o.cursor_id and r.id <= looked.last_id
                -- As a value, because a join could begin with all jobs.
                and (select j.status from millrace.jobs_live j where j.id = r.job_id) = 'dead_letter'
              order by r.id limit allowed) d;
    -- With as many jobs as allowed, others of this window may be left for the next step.
    walked_to := case when is_full or picked.jobs < allowed then looked.last_id else coalesce(picked.last_id, o.cursor_id) end;
    unmoved := (select count(*) from millrace.matching_dead_letters(o.filter) m
                  where m.id > o.cursor_id and m.id <= walked_to);
    if picked.jobs > 0 then
      moved := (select count(*) from millrace.redrive(picked.job_ids, picked.claim_nos,
        format('redrive %s of %s', o.id, o.requested_by)));
    end if;
    update millrace.operations u
      set done_count = o.done_count + moved, cursor_id = walked_to, skipped_count = o.skipped_count + unmoved - moved,
          walk_locked = o.walk_locked + picked.jobs - moved,
          stepped_at = coalesce(earned_from + make_interval(secs => picked.jobs / o.rate_per_second), millrace.clock()),
          updated_at = millrace.clock()
      where u.id = o.id
      returning * into o;
    if (is_full or picked.jobs < allowed) and looked.rows < window_size then
      -- The end of a walk. Another one follows for the rows that were locked.
      if o.walk_locked > 0 and not is_full then
        update millrace.operations u
          set cursor_id = 0, skipped_count = 0, walk_locked = 0 where u.id = o.id;
      else
        update millrace.operations u set status = 'done', finished_at = millrace.clock() where u.id = o.id;
      end if;
    end if;
  end if;
  return query select * from millrace.operations u where u.id = operation_id;
end $$;

-- Ends a redrive; jobs already moved are not moved back. Returns false if it had moved everything or was not running.
create function millrace.cancel_redrive(operation_id bigint) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  outcome text;
begin
  -- One that has moved everything is done: only the step that finds nothing more has not run.
  update millrace.operations o
    set status = case when o.done_count >= o.expected_count and o.done_count > 0 then 'done' else 'cancelled' end,
        finished_at = millrace.clock(), updated_at = millrace.clock()
    where o.id = operation_id and o.kind = 'redrive' and o.status in ('running', 'paused')
    returning o.status into outcome;
  if outcome is distinct from 'cancelled' then
    return false;
  end if;
  insert into millrace.audit_log (action, details)
    values ('redrive_cancelled', jsonb_build_object('operation', operation_id));
  return true;
end $$;

grant select, insert, update, delete on millrace.operations to millrace_runtime;
grant select on millrace.operations to millrace_operator;

revoke execute on function millrace.redrive(bigint[], bigint[], text), millrace.retry(bigint),
  millrace.matching_dead_letters(jsonb), millrace.redrivable_dead_letters(jsonb),
  millrace.find_groups(text), millrace.is_time(text), millrace.redrive_filter_fault(jsonb),
  millrace.start_redrive(jsonb, double precision),
  millrace.step_redrive(bigint, integer), millrace.cancel_redrive(bigint) from public;
grant execute on function millrace.matching_dead_letters(jsonb), millrace.redrivable_dead_letters(jsonb),
  millrace.find_groups(text), millrace.start_redrive(jsonb, double precision), millrace.step_redrive(bigint, integer),
  millrace.cancel_redrive(bigint) to millrace_operator, millrace_runtime;
grant execute on function millrace.retry(bigint) to millrace_operator, millrace_runtime;
grant execute on function millrace.redrive(bigint[], bigint[], text) to millrace_runtime;

-- Refuses to change by hand what the engine decides, also for an owner or superuser. A statement trigger fires for the
-- table that the statement names. The engine names jobs_live, so this costs it nothing; people name jobs.
create function millrace.refuse_change() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'jobs are not deleted from millrace.jobs, which would leave their dead letters and attempts'
      using errcode = 'object_not_in_prerequisite_state',
        hint = 'npx millrace jobs delete <id> deletes a job, select millrace.cancel(id) cancels one.';
  end if;
  raise exception 'the status, attempts, claim and times of a job are changed by functions only'
    using errcode = 'object_not_in_prerequisite_state',
      hint = 'select millrace.retry(id) makes a failed or dead job due now, select millrace.cancel(id) cancels a job. '
        'An update can change payload, priority, run_at, start_by, max_attempts, unique_key and group_key of an '
        'unfinished job.';
end $$;
revoke execute on function millrace.refuse_change() from public;
create trigger refuse_update
  before update of id, slot, status, attempts, next_retry_at, hold_until, claim_no, lease_expires_at, message_id,
    message_sent_at, request_id, dispatched_at, started_at, finished_at, losses, suspect, job_type, routing_key, result,
    progress, created_at, unique_until
  on millrace.jobs for each statement execute function millrace.refuse_change();
create trigger refuse_delete before delete on millrace.jobs
  for each statement execute function millrace.refuse_change();
-- A finished job does not change, whichever table the statement names. The engine only inserts and deletes them.
create trigger refuse_update before update on millrace.jobs_finished
  for each row execute function millrace.refuse_change();
