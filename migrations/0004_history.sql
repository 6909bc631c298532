-- What happened to jobs: attempts, dead letters, and requests to cancel.

-- Every attempt that did not succeed, every snooze, rescue, lost message and redrive; a success writes no row. Kept as
-- long as finished jobs (default 7 days) after the job is gone, at most 90 days.
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
grant select, insert, delete on millrace.job_attempts to millrace_runtime;
grant select on millrace.job_attempts to millrace_operator;

-- One row per death. For a stray, a message without a job, job_id is null and raw_body is kept. Resolved rows are kept
-- for 90 days. The mirror writes message_id, message_sent_at, first_seen_at and last_seen_at from what it sees in SQS.
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
-- With the columns that counts of many dead letters read, so that they need not read the rows with their stack traces.
create index dead_letters_open on millrace.dead_letters (job_type, routing_key, died_at, id) include (job_id)
  where status = 'open';
-- A redrive reads the open ones in the order of their ids.
create index dead_letters_open_id on millrace.dead_letters (id) where status = 'open';
-- Queries of failed_jobs by time, of all handlers.
create index dead_letters_open_died on millrace.dead_letters (died_at) where status = 'open';
create index dead_letters_open_fingerprint on millrace.dead_letters (fingerprint, died_at) where status = 'open';
-- The mirror closes the strays of a queue that it no longer finds there.
create index dead_letters_open_strays on millrace.dead_letters (queue_name, id)
  where job_id is null and status = 'open';
create index dead_letters_job on millrace.dead_letters (job_id);
-- The mirror checks whether a dead letter of a queue was resolved since its last sweep.
create index dead_letters_resolved on millrace.dead_letters (queue_name, resolved_at) where status <> 'open';
grant select, insert, update, delete on millrace.dead_letters to millrace_runtime;
grant select on millrace.dead_letters to millrace_operator;

-- The mirror's state for each dead-letter queue. A sweep is complete when it saw as many messages as SQS counted; a
-- message is missing only if two complete sweeps did not see it. The times are the starts of sweeps.
create table millrace.dead_letter_queues (
  queue_url text primary key,
  depth bigint not null default 0,
  -- Messages that the last sweep left in the queue; null before the first sweep.
  seen bigint,
  checked_at timestamptz not null default millrace.clock(),
  swept_at timestamptz,
  complete_at timestamptz,
  complete_before_at timestamptz,
  -- The latest move task: the messages that it moved are on their way, not missing.
  moved_at timestamptz
) with (fillfactor = 50);
grant select, insert, update, delete on millrace.dead_letter_queues to millrace_runtime;
grant select on millrace.dead_letter_queues to millrace_operator;

-- Requests to cancel jobs that are dispatched or running. Start, settle, rescue and maintain read them; a row is
-- deleted when it is applied.
create table millrace.cancel_requests (
  job_id bigint primary key,
  requested_at timestamptz not null default millrace.clock(),
  requested_by text not null default millrace.actor()
);
grant select, insert, delete on millrace.cancel_requests to millrace_runtime;
grant select on millrace.cancel_requests to millrace_operator;
