-- Recurring jobs, declared in code or at run time. Kept until removed; ticks are kept for 90 days.
create table millrace.schedules (
  name text primary key check (name ~ '^[a-z][a-z0-9_-]*$'),
  job_type text not null,
  routing_key text not null default '',
  payload jsonb not null default '{}',
  cron text,
  every_seconds integer check (every_seconds > 0),
  zone text not null default 'UTC',
  catch_up text not null default 'latest' check (catch_up in ('none', 'latest', 'all')),
  catch_up_max integer not null default 10 check (catch_up_max > 0),
  overlap text not null default 'allow' check (overlap in ('allow', 'skip', 'queue-one')),
  spread_seconds integer not null default 0 check (spread_seconds >= 0),
  paused_at timestamptz,
  next_tick_at timestamptz,
  created_at timestamptz not null default millrace.clock(),
  check ((cron is null) <> (every_seconds is null))
);
create table millrace.schedule_ticks (
  schedule text not null,
  tick_at timestamptz not null,
  job_id bigint,
  created_at timestamptz not null default millrace.clock(),
  primary key (schedule, tick_at)
);
create index schedule_ticks_created on millrace.schedule_ticks (created_at);
grant select, insert, update, delete on millrace.schedules, millrace.schedule_ticks to millrace_runtime;
grant select on millrace.schedules, millrace.schedule_ticks to millrace_operator;
