-- What happened: attempts, dead letters, counters, operations, audit.

-- Every attempt that did not simply succeed, every snooze, rescue, release after loss and redrive. Kept as long as
-- finished jobs (default 7 days) after the job is gone, 90 days at most.
create table millrace.job_attempts (
  id bigint generated always as identity primary key,
  job_id bigint not null,
  claim_no bigint,
  attempt integer not null,
  outcome text not null check (outcome in
    ('failed', 'dead_letter', 'skipped', 'cancelled', 'snoozed', 'lost', 'redriven', 'retried')),
  error_name text,
  error_message text,
  error_stacktrace text,
  fingerprint text,
  started_at timestamptz,
  finished_at timestamptz not null default millrace.clock(),
  delay_seconds double precision,
  request_id text
);
create index job_attempts_job on millrace.job_attempts (job_id);
create unique index job_attempts_once_a_claim on millrace.job_attempts (job_id, claim_no)
  where outcome in ('failed', 'dead_letter', 'skipped', 'cancelled');
create index job_attempts_finished on millrace.job_attempts (finished_at);
grant select, insert, delete on millrace.job_attempts to millrace_runtime;
grant select on millrace.job_attempts to millrace_operator;

-- One row a death. job_id is null for a message that is nobody's job, a stray; only then raw_body is kept. Resolved
-- rows are kept for 90 days. message_id, message_sent_at and the times of sight are what the mirror saw in SQS.
create table millrace.dead_letters (
  id bigint generated always as identity primary key,
  job_id bigint,
  claim_no bigint,
  job_type text,
  routing_key text,
  queue_name text,
  status text not null default 'open' check (status in ('open', 'redriven', 'discarded', 'expired')),
  last_error text,
  error_stacktrace text,
  fingerprint text,
  died_at timestamptz not null default millrace.clock(),
  message_id text,
  message_sent_at timestamptz,
  first_seen_at timestamptz,
  last_seen_at timestamptz,
  carrier_at timestamptz,
  raw_body text check (job_id is null or raw_body is null),
  resolved_at timestamptz,
  resolved_by text,
  resolution text,
  check ((status = 'open') = (resolved_at is null))
);
create unique index dead_letters_one_open_a_job on millrace.dead_letters (job_id) where status = 'open';
create unique index dead_letters_one_a_stray on millrace.dead_letters (queue_name, message_id) where job_id is null;
create index dead_letters_open on millrace.dead_letters (job_type, routing_key, died_at, id) where status = 'open';
-- A redrive walks the open ones by id.
create index dead_letters_open_id on millrace.dead_letters (id) where status = 'open';
create index dead_letters_open_fingerprint on millrace.dead_letters (fingerprint, died_at) where status = 'open';
create index dead_letters_job on millrace.dead_letters (job_id);
grant select, insert, update, delete on millrace.dead_letters to millrace_runtime;
grant select on millrace.dead_letters to millrace_operator;

-- What the mirror remembers of each dead-letter queue. A sweep is complete when it saw as many messages as SQS counted;
-- only what two complete sweeps did not see is missing. Times are when a sweep began.
create table millrace.dead_letter_queues (
  queue_url text primary key,
  depth bigint not null default 0,
  checked_at timestamptz not null default millrace.clock(),
  swept_at timestamptz,
  complete_at timestamptz,
  complete_before_at timestamptz,
  -- The newest move task that was seen: what it moved is on its way, and not missing.
  moved_at timestamptz
) with (fillfactor = 50);
grant select, insert, update, delete on millrace.dead_letter_queues to millrace_runtime;
grant select on millrace.dead_letter_queues to millrace_operator;

-- A wish to cancel a job whose row a handler needs: read by start, settle, rescue and maintain. Gone when applied.
create table millrace.cancel_requests (
  job_id bigint primary key,
  requested_at timestamptz not null default millrace.clock(),
  requested_by text not null default millrace.actor()
);
grant select, insert, delete on millrace.cancel_requests to millrace_runtime;
grant select on millrace.cancel_requests to millrace_operator;

-- Counters: a statement appends one row for each (event, type, status) and never updates a shared one, since a long
-- transaction of a caller would lock settle out. Maintain folds them into the totals. Kept for ever, a row a series.
create table millrace.job_events (
  event text not null check (event in ('enqueued', 'succeeded', 'failed', 'retried', 'dead_lettered', 'manual_retry')),
  job_type text not null,
  status text not null,
  count bigint not null check (count > 0)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create table millrace.job_event_totals (
  event text not null,
  job_type text not null,
  status text not null,
  count bigint not null,
  primary key (event, job_type, status)
) with (fillfactor = 50);
grant select, insert, update, delete on millrace.job_events, millrace.job_event_totals to millrace_runtime;
grant select on millrace.job_events, millrace.job_event_totals to millrace_operator;

-- Long work that is done bit by bit, such as a redrive. Kept for 90 days.
create table millrace.operations (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('redrive')),
  filter jsonb not null,
  rate_per_second double precision check (rate_per_second > 0),
  status text not null default 'running' check (status in ('running', 'done', 'cancelled')),
  -- The last dead letter that was looked at.
  cursor_id bigint not null default 0,
  expected_count bigint not null default 0,
  done_count bigint not null default 0,
  -- Matched, and still open at the end: nobody's job, or without a handler.
  skipped_count bigint not null default 0,
  -- Up to when the rate is used up.
  stepped_at timestamptz not null default millrace.clock(),
  requested_by text not null default millrace.actor(),
  created_at timestamptz not null default millrace.clock(),
  updated_at timestamptz not null default millrace.clock(),
  finished_at timestamptz
);
-- Who did what by hand. Kept for 400 days.
create table millrace.audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default millrace.clock(),
  actor text not null default millrace.actor(),
  action text not null,
  job_id bigint,
  details jsonb not null default '{}'
);
create index audit_log_job on millrace.audit_log (job_id);
create index audit_log_at on millrace.audit_log (at);
-- Secrets are stored as SHA-256 only. Revoked keys are kept for 400 days.
create table millrace.api_keys (
  id bigint generated always as identity primary key,
  name text not null,
  secret_sha256 text not null unique,
  scopes text[] not null,
  created_at timestamptz not null default millrace.clock(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
-- Answers to requests that carried an Idempotency-Key. Kept for 24 hours.
create table millrace.idempotency_keys (
  caller text not null,
  key text not null,
  request_sha256 text not null,
  response jsonb not null,
  created_at timestamptz not null default millrace.clock(),
  primary key (caller, key)
);
-- Declared in code or at run time. Kept until removed; ticks are kept for 90 days.
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
grant select, insert, update, delete on millrace.operations, millrace.audit_log, millrace.api_keys,
  millrace.idempotency_keys, millrace.schedules, millrace.schedule_ticks to millrace_runtime;
grant select on millrace.operations, millrace.audit_log, millrace.schedules, millrace.schedule_ticks
  to millrace_operator;
