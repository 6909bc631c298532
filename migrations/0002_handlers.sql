-- The registry: one row per handler, written at deployment from the handler files.
create table millrace.handlers (
  job_type text not null check (job_type ~ '^[a-z][a-z0-9_]*$' and strpos(job_type, '__') = 0),
  routing_key text not null default '' check (routing_key ~ '^([a-z][a-z0-9_]*)?$'),
  queue_url text not null,
  dead_letter_queue_url text not null,
  function_name text not null,
  timeout_seconds integer not null check (timeout_seconds between 1 and 900),
  running_lease_seconds integer not null check (running_lease_seconds > timeout_seconds),
  dispatched_lease_seconds integer not null check (dispatched_lease_seconds > 0),
  visibility_seconds integer not null check (visibility_seconds between 1 and 43200),
  max_attempts smallint not null check (max_attempts between 1 and 1000),
  retry_policy jsonb not null,
  -- The handler of the jobs that are enqueued when its jobs die.
  on_dead_letter text,
  concurrency integer not null check (concurrency > 0),
  batch_size integer not null check (batch_size > 0),
  -- The most jobs in SQS or running. The dispatcher moves it between the two bounds below; deployments keep it.
  max_in_flight integer not null check (max_in_flight > 0),
  max_in_flight_floor integer not null check (max_in_flight_floor > 0),
  max_in_flight_cap integer not null check (max_in_flight_cap >= max_in_flight_floor),
  -- Set by an operator: the dispatcher claims nothing, and jobs in flight finish.
  paused_at timestamptz,
  -- Set by the dispatcher, for example when the queue does not exist: it claims nothing until then.
  held_until timestamptz,
  hold_reason text,
  -- Consecutive dispatches in which SQS refused messages for its queue.
  refusals integer not null default 0 check (refusals >= 0),
  deployed_at timestamptz not null default millrace.clock(),
  primary key (job_type, routing_key)
) with (fillfactor = 50);
grant select, insert, update, delete on millrace.handlers to millrace_runtime;
grant select on millrace.handlers to millrace_operator;

-- When a handler left the registry, until it returns: its jobs die a day later, regardless of how long they waited.
create table millrace.removed_handlers (
  job_type text not null,
  routing_key text not null,
  removed_at timestamptz not null default millrace.clock(),
  -- Its pause, which it has again when it returns: a deployment that is rolled back must not resume it.
  paused_at timestamptz,
  primary key (job_type, routing_key)
);
grant select, insert, update, delete on millrace.removed_handlers to millrace_runtime;
grant select on millrace.removed_handlers to millrace_operator;

-- The highest claim number that has started, for each handler that was ever deployed. A separate table, because the
-- claim locks the rows of `handlers`.
create table millrace.handler_starts (
  job_type text not null,
  routing_key text not null,
  claim_no bigint not null,
  -- No job of the handler that is in flight has a lower claim number: searches begin here, because the index has entries
  -- of all earlier jobs while an old transaction keeps vacuum from removing them.
  lowest_claim bigint not null default 0,
  primary key (job_type, routing_key)
) with (fillfactor = 50);
grant select, insert, update, delete on millrace.handler_starts to millrace_runtime;

-- Pauses or resumes a handler: the dispatcher stops claiming its jobs (those in flight finish), or claims again from
-- its next round. Returns false if the handler is unknown or already in that state.
create function millrace.set_paused(job_type text, routing_key text, paused boolean) returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  with changed as (
    update millrace.handlers h set paused_at = case when paused then millrace.clock() end
      where h.job_type = set_paused.job_type and h.routing_key = set_paused.routing_key
        and (h.paused_at is not null) <> paused
      returning h.job_type, h.routing_key
  ), audited as (
    insert into millrace.audit_log (action, details)
      select case when paused then 'pause' else 'resume' end,
             jsonb_build_object('job_type', c.job_type, 'routing_key', c.routing_key) from changed c
  )
  select exists (select from changed)
$$;

create function millrace.pause(job_type text, routing_key text default '') returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$ select millrace.set_paused(job_type, routing_key, true) $$;

create function millrace.resume(job_type text, routing_key text default '') returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$ select millrace.set_paused(job_type, routing_key, false) $$;

revoke execute on function millrace.set_paused(text, text, boolean), millrace.pause(text, text),
  millrace.resume(text, text) from public;
grant execute on function millrace.pause(text, text), millrace.resume(text, text)
  to millrace_operator, millrace_runtime;
