-- One logical table of jobs. Slot 0 holds live jobs; slots 1 to 32 are a ring of days for finished ones. A row never
-- moves by UPDATE: a statement that waits for such a row fails with 40001, even with SKIP LOCKED. millrace.finish
-- (0009) deletes and inserts instead.

create sequence millrace.job_ids as bigint;
grant usage on sequence millrace.job_ids to millrace_app, millrace_runtime;
grant select on sequence millrace.job_ids to millrace_runtime, millrace_operator;

create table millrace.jobs (
  -- The columns are ordered for size: WAL of an update covers the bytes from the first to the last that changed, so
  -- columns that never change come first or last; eight-byte columns are adjacent, without padding.
  id bigint not null default nextval('millrace.job_ids'),
  run_at timestamptz not null default millrace.clock(),
  created_at timestamptz not null default millrace.clock(),
  -- The latest time of the first start: after it, the job is skipped. The end of an attempt that counts sets it to null.
  start_by timestamptz,
  max_attempts integer not null,
  priority smallint not null default 5,
  slot smallint not null default 0,
  -- How many messages of this job were lost while later ones of its handler started.
  losses smallint not null default 0,
  -- The last attempt ended by rescue: the job runs alone until it settles an attempt itself.
  suspect boolean not null default false,
  in_flight boolean generated always as (status in ('dispatched', 'running')) stored,
  attempts integer not null default 0,
  updated_at timestamptz not null default millrace.clock(),
  due_at timestamptz generated always as (
    case status when 'pending' then greatest(run_at, hold_until) when 'failed' then next_retry_at end) stored,
  -- Not claimed before this time, whatever run_at is: set when SQS refused its message.
  hold_until timestamptz,
  next_retry_at timestamptz,
  claim_no bigint,
  lease_expires_at timestamptz,
  dispatched_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  -- The SQS delivery that started the attempt, and the Lambda request that runs it.
  message_sent_at timestamptz,
  message_id text,
  request_id text,
  status text not null default 'pending',
  job_type text not null,
  routing_key text not null default '',
  payload jsonb not null default '{}',
  unique_key text,
  group_key text,
  last_error text,
  result jsonb,
  -- What the running attempt last reported: {"fraction", "text", "at"}.
  progress jsonb,
  traceparent text,
  -- The handler of the job that is enqueued when this one dies; empty for none, null for that of its handler.
  on_dead_letter text,
  -- The login that inserted the job, for millrace.my_jobs. A function with its owner's rights does not change it.
  inserted_by text not null default session_user,
  -- Null: jobs_live_unique_key holds the unique_key until the job has finished. Otherwise millrace.unique_keys does, and
  -- says how long.
  unique_until text
) partition by list (slot);

-- The rules for the values of a job. Triggers (0006) apply them to the rows of an insert, and of an update by hand. They
-- are not check constraints, because Postgres parses those of a table again for each statement that writes to it: they
-- were a third of a start and of a settle of ten jobs. No other statement changes these values, except
-- millrace.replace_job. Returns the rule that the job breaks, or null.
create function millrace.broken_rule(
  job_type text, routing_key text, payload jsonb, priority integer, max_attempts integer, run_at timestamptz,
  start_by timestamptz, unique_key text, unique_until text, group_key text, on_dead_letter text, traceparent text
) returns text
  -- Without a search path of its own, so that Postgres inlines it; the names were looked up when it was created.
  language sql immutable parallel safe
  return case
    when strpos(job_type, '.') > 0 then 'job_type contains no dot: the part after it is the routing_key'
    when job_type !~ '^[a-z][a-z0-9_]*$' then 'job_type is lower-case letters, digits and _, a letter first'
    -- In the name of an environment variable, __ separates the job type from the routing key.
    when strpos(job_type, '__') > 0 then 'job_type contains no __'
    when routing_key !~ '^([a-z][a-z0-9_]*)?$' then 'routing_key is empty or lower-case letters, digits and _'
    when char_length(job_type) + char_length(routing_key) > 60
      then 'job_type and routing_key have at most 60 characters together'
    -- The size of the text, because pg_column_size measures compressed data and 1e131071 is a short number.
    when octet_length(payload::text) > 1048576 then 'payload is at most 1 MiB'
    when priority not between 0 and 9 then 'priority is 0 to 9'
    when max_attempts not between 1 and 1000 then 'max_attempts is 1 to 1000'
    -- ISO 8601 has four digits for a year, and clients cannot read every later time.
    when run_at < timestamptz '0001-01-01 00:00:00+00' or run_at >= timestamptz '10000-01-01 00:00:00+00'
      then 'run_at is in the years 1 to 9999'
    when start_by < timestamptz '0001-01-01 00:00:00+00' or start_by >= timestamptz '10000-01-01 00:00:00+00'
      then 'start_by is in the years 1 to 9999'
    when char_length(unique_key) not between 1 and 500 then 'unique_key is 1 to 500 characters'
    when unique_until is not null
        and (unique_key is null or unique_until not in ('dispatched', 'dead_letter', 'finished', 'period'))
      then 'unique_until is one of four words, and has a unique_key'
    when char_length(group_key) not between 1 and 500 then 'group_key is 1 to 500 characters'
    when on_dead_letter !~ '^([a-z](_?[a-z0-9])*_?(\.[a-z][a-z0-9_]*)?)?$' or char_length(on_dead_letter) > 61
      then 'on_dead_letter is the name of a handler, at most 61 characters, or empty'
    when char_length(traceparent) > 55 then 'traceparent has at most 55 characters'
  end;
revoke execute on function millrace.broken_rule from public;

-- A row is updated twice in its life here: free space on the page keeps those updates out of the indexes.
create table millrace.jobs_live partition of millrace.jobs for values in (0) with (
  fillfactor = 60,
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.05);
alter table millrace.jobs_live add constraint jobs_live_pkey primary key (id);
alter table millrace.jobs_live add constraint "a live job has the claim, lease and times of its status" check (
  finished_at is null and case
    when in_flight then lease_expires_at is not null and claim_no is not null
      and (status = 'dispatched' or started_at is not null)
    -- Pending or failed.
    when due_at is not null then lease_expires_at is null and coalesce(isfinite(next_retry_at), true)
    else status = 'dead_letter' and lease_expires_at is null and (claim_no is not null or attempts = 0) end);

create table millrace.jobs_finished partition of millrace.jobs
  for values in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32)
  partition by list (slot);
alter table millrace.jobs_finished add constraint "a finished job has finished_at and no lease" check (
  finished_at is not null and lease_expires_at is null);

do $$
begin
  for slot in 1..32 loop
    execute format('create table millrace.jobs_finished_%1$s partition of millrace.jobs_finished for values in (%2$s)
                    with (autovacuum_vacuum_insert_scale_factor = 0.5)', lpad(slot::text, 2, '0'), slot);
    execute format('alter table millrace.jobs_finished_%1$s add constraint jobs_finished_%1$s_pkey primary key (id)',
                   lpad(slot::text, 2, '0'));
  end loop;
end $$;

-- For the claim: a range scan per handler and priority.
create index jobs_live_due on millrace.jobs_live (job_type, routing_key, priority, due_at, id) where due_at is not null;
-- For counting jobs in flight and for rescue. No column of it changes at start, so that update writes no index.
create index jobs_live_in_flight on millrace.jobs_live (job_type, routing_key, claim_no) where in_flight;
-- No column of it changes, so no update writes it. Keys that end in another way are in millrace.unique_keys (0016).
create unique index jobs_live_unique_key on millrace.jobs_live (job_type, routing_key, unique_key)
  where unique_key is not null and unique_until is null;

-- For jobs that are too late to start. The end of an attempt changes it only for a job that has a time.
create index jobs_live_start_by on millrace.jobs_live (start_by) where start_by is not null;

-- For lists of dead and failed jobs. The conditions name no column that changes at start: with `status` in one of them,
-- that update would write every index. A live job that is neither waiting nor in flight is dead.
create index jobs_live_dead on millrace.jobs_live (id) where due_at is null and not in_flight;
create index jobs_live_failed on millrace.jobs_live (id) where next_retry_at is not null;

-- The slot of a day in the ring.
create function millrace.slot_of(at timestamptz) returns smallint
  language sql immutable parallel safe
  return (1 + floor(extract(epoch from at) / 86400)::bigint % 32)::smallint;
revoke execute on function millrace.slot_of(timestamptz) from public;
grant execute on function millrace.slot_of(timestamptz) to millrace_runtime, millrace_operator;

-- The text of a payload for its readers; null when it is too large to read. The constraint prevents such rows,
-- except where an administrator has dropped it.
create function millrace.payload_text(payload jsonb) returns text
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp
  as $$
declare
  printed text := payload::text;
begin
  return case when octet_length(printed) <= 1048576 then printed end;
end $$;
revoke execute on function millrace.payload_text(jsonb) from public;
grant execute on function millrace.payload_text(jsonb) to millrace_runtime, millrace_operator;

grant select, insert, update, delete on millrace.jobs, millrace.jobs_live, millrace.jobs_finished to millrace_runtime;
grant select on millrace.jobs, millrace.jobs_live, millrace.jobs_finished to millrace_operator;
-- Applications set what they request, never what the engine decides.
grant insert (job_type, routing_key, payload, priority, max_attempts, run_at, start_by, unique_key, group_key,
              traceparent, on_dead_letter),
      select (id) on millrace.jobs to millrace_app;
