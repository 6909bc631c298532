-- Recurring jobs, declared in a handler file or created at run time. The dispatcher computes the ticks of a schedule and
-- enqueues one job for each (core/schedules/promote.ts).

create table millrace.schedules (
  name text primary key,
  -- Whether a handler file declares it: only a deployment changes or deletes it then.
  declared boolean not null default false,
  job_type text not null,
  routing_key text not null default '',
  payload jsonb not null default '{}',
  -- The size that limits what one statement enqueues: that of the text, because Postgres stores the payload compressed.
  payload_bytes integer not null generated always as (octet_length(payload::text)) stored,
  -- The member of the payload that gets the time of the tick; null for none.
  tick_key text,
  priority integer not null default 5,
  max_attempts integer,
  unique_key text,
  group_key text,
  cron text,
  every_seconds integer,
  zone text not null default 'UTC',
  catch_up text not null default 'latest',
  overlap text not null default 'allow',
  spread_seconds integer not null default 0,
  -- How long after the time at which its job runs an attempt may start; null without a limit.
  start_by_seconds integer,
  paused_at timestamptz,
  -- Why the dispatcher cannot compute its ticks: it ignores the schedule then.
  fault text,
  -- Only later ticks exist: the time of its creation, of its last change, or of its resumption.
  since timestamptz not null default millrace.clock(),
  -- The first tick that is not yet a row of schedule_ticks; -infinity until the dispatcher computes it.
  next_tick_at timestamptz not null default '-infinity',
  -- When the dispatcher computed it. A time in the future means that the clock was set back since.
  computed_at timestamptz,
  -- With the overlap queue-one: the tick that waits until the jobs of earlier ticks have finished.
  queued_tick_at timestamptz,
  -- When the dispatcher last failed to enqueue a job of it, which puts it behind the others; null after a success.
  failed_at timestamptz,
  -- Rises with every change, so that the dispatcher applies a computation only to what it read.
  version bigint not null default 1,
  created_at timestamptz not null default millrace.clock(),
  constraint "name is 1 to 100 lower-case letters, digits, - and _, a letter first" check (name ~ '^[a-z][a-z0-9_-]{0,99}$'),
  -- The rules of jobs, so that the jobs of a schedule can be stored.
  constraint "job_type contains no dot: the part after it is the routing_key" check (strpos(job_type, '.') = 0),
  constraint "job_type is lower-case letters, digits and _, a letter first" check (job_type ~ '^[a-z][a-z0-9_]*$'),
  constraint "job_type contains no __" check (strpos(job_type, '__') = 0),
  constraint "routing_key is empty or lower-case letters, digits and _" check (routing_key ~ '^([a-z][a-z0-9_]*)?$'),
  constraint "job_type and routing_key have at most 60 characters together"
    check (char_length(job_type) + char_length(routing_key) <= 60),
  -- With room for the tick.
  constraint "payload of a schedule is at most 1 MiB less 1 KiB" check (octet_length(payload::text) <= 1047552),
  constraint "tick_key is 1 to 100 characters, and the payload an object"
    check (tick_key is null or (char_length(tick_key) between 1 and 100 and jsonb_typeof(payload) = 'object')),
  constraint "priority is 0 to 9" check (priority between 0 and 9),
  constraint "max_attempts is 1 to 1000" check (max_attempts between 1 and 1000),
  constraint "unique_key is 1 to 500 characters" check (char_length(unique_key) between 1 and 500),
  constraint "group_key is 1 to 500 characters" check (char_length(group_key) between 1 and 500),
  constraint "a schedule has either cron or every" check ((cron is null) <> (every_seconds is null)),
  constraint "cron has five fields" check (char_length(cron) <= 200 and cron ~ '^\s*\S+(\s+\S+){4}\s*$'),
  constraint "every is 10 seconds to 365 days" check (every_seconds between 10 and 31536000),
  constraint "zone is 1 to 100 characters" check (char_length(zone) between 1 and 100),
  constraint "catch_up is none, latest, or all(1) to all(100)" check (catch_up ~ '^(none|latest|all\(([1-9][0-9]?|100)\))$'),
  constraint "overlap is allow, skip or queue-one" check (overlap in ('allow', 'skip', 'queue-one')),
  constraint "spread is 0 seconds to 1 day" check (spread_seconds between 0 and 86400),
  constraint "start_by is 1 second to 365 days" check (start_by_seconds between 1 and 31536000)
) with (fillfactor = 50);
create index schedules_due on millrace.schedules (next_tick_at) where paused_at is null and fault is null;
create index schedules_computed on millrace.schedules (computed_at) where paused_at is null and fault is null;
create index schedules_failed on millrace.schedules (failed_at) where failed_at is not null;
create index schedules_queued on millrace.schedules (name) where queued_tick_at is not null;

-- The pause of a declared schedule that a deployment removed, which it has again when it returns.
create table millrace.removed_schedules (
  name text primary key,
  paused_at timestamptz not null
);
grant select, insert, update, delete on millrace.removed_schedules to millrace_runtime;
grant select on millrace.removed_schedules to millrace_operator;

-- One row for each tick, which makes its job exist once. Kept for 90 days, also after the schedule is deleted.
create table millrace.schedule_ticks (
  schedule text not null,
  tick_at timestamptz not null,
  -- deduplicated: another job held the unique key. queued and overlapped: by the overlap of the schedule. manual: a
  -- person ran the schedule.
  result text not null default 'enqueued'
    check (result in ('enqueued', 'deduplicated', 'queued', 'overlapped', 'manual')),
  job_id bigint,
  created_at timestamptz not null default millrace.clock(),
  primary key (schedule, tick_at)
);
create index schedule_ticks_created on millrace.schedule_ticks (created_at);
-- By job_id and not by tick_at: when the clock is set back, ticks get earlier times than those before them.
create index schedule_ticks_jobs on millrace.schedule_ticks (schedule, (result = 'manual'), job_id desc)
  where job_id is not null;
grant select, insert, update, delete on millrace.schedules, millrace.schedule_ticks to millrace_runtime;
grant select on millrace.schedules, millrace.schedule_ticks to millrace_operator;

-- Whether one of the last five jobs of a schedule, or of the last five that people ran, is unfinished. A dead letter is
-- not: it may stay until an operator decides.
create function millrace.is_busy(schedule text) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  as $$
  select exists (
    select from (values (false), (true)) kind(manual)
      cross join lateral (
        select t.job_id from millrace.schedule_ticks t
          where t.schedule = is_busy.schedule and (t.result = 'manual') = kind.manual and t.job_id is not null
          order by t.job_id desc limit 5) last
      join millrace.jobs_live j on j.id = last.job_id and j.status <> 'dead_letter')
$$;

-- The payload of the job of a tick.
create function millrace.tick_payload(payload jsonb, tick_key text, tick_at timestamptz) returns jsonb
  language sql stable
  return case when tick_key is null then payload
    else payload || jsonb_build_object(tick_key, to_char(tick_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) end;

-- When the job of a tick runs: the schedule always has the same place in its window, so its intervals stay equal.
create function millrace.spread_tick(schedule text, spread_seconds integer, tick_at timestamptz) returns timestamptz
  language sql stable
  return tick_at + make_interval(secs =>
    (('x' || left(md5(schedule), 8))::bit(32)::bigint % (spread_seconds + 1))::double precision);

-- late: the dispatcher has not made its next tick for this number of seconds. failed: fault states why it has no ticks.
create function millrace.state_of(s millrace.schedules, late_seconds double precision) returns text
  language sql stable
  return case when (s).paused_at is not null then 'paused'
    when (s).fault is not null then 'failed'
    when not exists (select from millrace.handlers h
      where h.job_type = (s).job_type and h.routing_key = (s).routing_key) then 'no_handler'
    when greatest((s).next_tick_at, (s).since) < millrace.clock() - make_interval(secs => late_seconds) then 'late'
    else 'active' end;

-- Creates a schedule. Returns false, and changes nothing, if one has this name. The dispatcher reads cron and zone: if
-- it refuses them, the schedule has a fault, which npx millrace schedules and doctor show.
create function millrace.create_schedule(
  name text, job_type text, payload jsonb default '{}', cron text default null, every interval default null,
  zone text default 'UTC', catch_up text default 'latest', overlap text default 'allow',
  spread interval default '0', routing_key text default '', priority integer default 5,
  max_attempts integer default null, unique_key text default null, group_key text default null,
  tick_key text default null, start_by interval default null
) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  if create_schedule.routing_key = '*' then
    raise exception 'create_schedule: a schedule has one handler: name its routing key instead of *'
      using errcode = 'invalid_parameter_value';
  end if;
  insert into millrace.schedules (name, job_type, payload, cron, every_seconds, zone, catch_up, overlap, spread_seconds,
      routing_key, priority, max_attempts, unique_key, group_key, tick_key, start_by_seconds)
    values (create_schedule.name, create_schedule.job_type, coalesce(create_schedule.payload, '{}'),
      create_schedule.cron, extract(epoch from create_schedule.every)::integer, coalesce(create_schedule.zone, 'UTC'),
      coalesce(create_schedule.catch_up, 'latest'), coalesce(create_schedule.overlap, 'allow'),
      coalesce(extract(epoch from create_schedule.spread), 0)::integer, coalesce(create_schedule.routing_key, ''),
      coalesce(create_schedule.priority, 5), create_schedule.max_attempts, create_schedule.unique_key,
      create_schedule.group_key, create_schedule.tick_key, extract(epoch from create_schedule.start_by)::integer)
    on conflict (name) do nothing;
  if not found then
    return false;
  end if;
  insert into millrace.audit_log (action, details)
    values ('create_schedule', jsonb_build_object('schedule', create_schedule.name, 'job_type', create_schedule.job_type));
  return true;
end $$;

-- Deletes a schedule; its jobs stay. Returns 'deleted', 'declared' (a handler file declares it: remove it there) or
-- 'not_found'.
create function millrace.delete_schedule(name text) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  delete from millrace.schedules s where s.name = delete_schedule.name and not s.declared;
  if found then
    insert into millrace.audit_log (action, details)
      values ('delete_schedule', jsonb_build_object('schedule', delete_schedule.name));
    return 'deleted';
  end if;
  return case when exists (select from millrace.schedules s where s.name = delete_schedule.name)
    then 'declared' else 'not_found' end;
end $$;

-- A paused schedule enqueues nothing. When it is resumed, it continues with the ticks after that time. Returns false if
-- the schedule is unknown or already in that state.
create function millrace.set_schedule_paused(name text, paused boolean) returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  with changed as (
    update millrace.schedules s
      set paused_at = case when paused then millrace.clock() end, queued_tick_at = null, fault = null,
          failed_at = null, since = millrace.clock(), next_tick_at = '-infinity', version = s.version + 1
      where s.name = set_schedule_paused.name and (s.paused_at is not null) <> paused
      returning s.name
  ), audited as (
    insert into millrace.audit_log (action, details)
      select case when paused then 'pause_schedule' else 'resume_schedule' end,
             jsonb_build_object('schedule', c.name) from changed c
  )
  select exists (select from changed)
$$;

create function millrace.pause_schedule(name text) returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$ select millrace.set_schedule_paused(name, true) $$;

create function millrace.resume_schedule(name text) returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$ select millrace.set_schedule_paused(name, false) $$;

-- Enqueues the job of a schedule now, in addition to its ticks and whatever its overlap is. Returns the id of the job;
-- null if the schedule is unknown.
create function millrace.run_schedule(name text) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  chosen millrace.schedules;
  job bigint;
begin
  select s.* into chosen from millrace.schedules s where s.name = run_schedule.name;
  if not found then
    return null;
  end if;
  select e.id into job from millrace.enqueue(chosen.job_type,
    millrace.tick_payload(chosen.payload, chosen.tick_key, millrace.clock()), millrace.clock(), chosen.priority,
    chosen.max_attempts, chosen.routing_key, chosen.unique_key, chosen.group_key,
    start_by => millrace.clock() + make_interval(secs => chosen.start_by_seconds)) e;
  insert into millrace.schedule_ticks (schedule, tick_at, result, job_id)
    values (chosen.name, millrace.clock(), 'manual', job) on conflict do nothing;
  insert into millrace.audit_log (action, job_id, details)
    values ('run_schedule', job, jsonb_build_object('schedule', chosen.name));
  return job;
end $$;

revoke execute on function millrace.is_busy(text), millrace.state_of(millrace.schedules, double precision),
  millrace.tick_payload(jsonb, text, timestamptz),
  millrace.spread_tick(text, integer, timestamptz),
  millrace.create_schedule(text, text, jsonb, text, interval, text, text, text, interval, text, integer, integer, text,
    text, text, interval),
  millrace.delete_schedule(text), millrace.set_schedule_paused(text, boolean), millrace.pause_schedule(text),
  millrace.resume_schedule(text), millrace.run_schedule(text) from public;
grant execute on function millrace.state_of(millrace.schedules, double precision)
  to millrace_operator, millrace_runtime;
grant execute on function millrace.is_busy(text), millrace.tick_payload(jsonb, text, timestamptz),
  millrace.spread_tick(text, integer, timestamptz) to millrace_runtime;
-- Who may enqueue may also do so repeatedly.
grant execute on function
  millrace.create_schedule(text, text, jsonb, text, interval, text, text, text, interval, text, integer, integer, text,
    text, text, interval) to millrace_app, millrace_runtime;
grant execute on function millrace.delete_schedule(text) to millrace_app, millrace_operator, millrace_runtime;
grant execute on function millrace.pause_schedule(text), millrace.resume_schedule(text), millrace.run_schedule(text)
  to millrace_operator, millrace_runtime;
