-- The clock, the identity of this installation, and the registry of handlers.
-- Every migration runs as millrace_owner, in one transaction; core/postgres/migrate.ts has made the roles and the schema.

revoke all on schema millrace from public;
grant usage on schema millrace to millrace_app, millrace_operator, millrace_runtime;

-- The only clock. Everything that asks for the time asks here, so that tests can replace one function.
create function millrace.clock() returns timestamptz
  language sql stable parallel safe
  as $$ select statement_timestamp() $$;
revoke execute on function millrace.clock() from public;
grant execute on function millrace.clock() to millrace_app, millrace_operator, millrace_runtime;

-- Who acts: the login, or whoever the API, which has one login for all its callers, says for this transaction. Nobody
-- without the rights of the runtime can speak in another's name.
create function millrace.actor() returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select case when pg_has_role(session_user, 'millrace_runtime', 'member')
    then coalesce(nullif(current_setting('millrace.actor', true), ''), session_user) else session_user end
$$;
revoke execute on function millrace.actor() from public;
grant execute on function millrace.actor() to millrace_app, millrace_operator, millrace_runtime;

-- `epoch` is in every message. It is redrawn after a restore or clone, so that messages of the other life of this
-- database are not taken for ours.
create table millrace.installation (
  only_row boolean primary key default true check (only_row),
  epoch text not null default substr(md5(random()::text || clock_timestamp()::text), 1, 12),
  created_at timestamptz not null default millrace.clock()
);
insert into millrace.installation default values;
grant select on millrace.installation to millrace_runtime, millrace_operator;

create table millrace.handlers (
  job_type text not null check (job_type ~ '^[a-z][a-z0-9_]*$'),
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
  concurrency integer not null check (concurrency > 0),
  batch_size integer not null check (batch_size > 0),
  -- How many of its jobs may lie in SQS or run. Moves between the two below by itself; deploys keep it.
  max_in_flight integer not null check (max_in_flight > 0),
  max_in_flight_floor integer not null check (max_in_flight_floor > 0),
  max_in_flight_cap integer not null check (max_in_flight_cap >= max_in_flight_floor),
  -- Set by an operator: nothing is claimed, what is in flight finishes.
  paused_at timestamptz,
  -- Set by the dispatcher, for example when the queue does not exist.
  held_until timestamptz,
  hold_reason text,
  deployed_at timestamptz not null default millrace.clock(),
  primary key (job_type, routing_key)
) with (fillfactor = 50);
grant select, insert, update, delete on millrace.handlers to millrace_runtime;
grant select on millrace.handlers to millrace_operator;

-- The highest claim number that was seen to start. Apart from `handlers`, whose rows the claim locks.
create table millrace.handler_starts (
  job_type text not null,
  routing_key text not null,
  claim_no bigint not null,
  primary key (job_type, routing_key)
) with (fillfactor = 50);
grant select, insert, update, delete on millrace.handler_starts to millrace_runtime;

-- One row a claim. Its id is the claim number, drawn after the handlers are locked, so it only rises for a handler.
create table millrace.dispatches (
  claim_no bigint generated always as identity primary key,
  claimed_at timestamptz not null default millrace.clock(),
  claimed_count integer not null,
  sent_at timestamptz,
  sent_count integer,
  refused_count integer,
  released_at timestamptz
);
create index dispatches_unconfirmed on millrace.dispatches (claimed_at) where sent_at is null and released_at is null;
grant select, insert, update, delete on millrace.dispatches to millrace_runtime;
grant select on millrace.dispatches to millrace_operator;
grant select on sequence millrace.dispatches_claim_no_seq to millrace_runtime;

-- The dispatcher that registered last goes on looping; an older one sees a higher number and leaves.
create table millrace.dispatcher_runs (
  only_row boolean primary key default true check (only_row),
  run_no bigint not null default 0,
  registered_at timestamptz not null default millrace.clock(),
  last_round_at timestamptz,
  last_active_at timestamptz not null default millrace.clock(),
  last_job_id bigint,
  last_hourly_at timestamptz
) with (fillfactor = 50);
insert into millrace.dispatcher_runs default values;
grant select, update on millrace.dispatcher_runs to millrace_runtime;
grant select on millrace.dispatcher_runs to millrace_operator;
