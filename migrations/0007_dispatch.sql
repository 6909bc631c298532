-- How jobs are claimed and sent: the dispatcher's own tables. The claim itself is in core/jobs/claim.ts.

-- One row per claim. Its id is the claim number, drawn after the handlers are locked, so that it only increases per
-- handler.
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

-- The dispatcher that registered last continues; an older one sees a higher number and stops.
create table millrace.dispatcher_runs (
  only_row boolean primary key default true check (only_row),
  run_no bigint not null default 0,
  registered_at timestamptz not null default millrace.clock(),
  last_round_at timestamptz,
  -- When the API last woke the dispatcher: the processes of the API share one nudge a second.
  nudged_at timestamptz,
  last_active_at timestamptz not null default millrace.clock(),
  last_job_id bigint,
  -- Where the claims of the last run began (core/jobs/claim-floors.ts), and where its looks at queued ticks and at jobs
  -- that wait for children continue.
  floors jsonb,
  -- How long its rounds took, in the buckets of millrace.timing_bounds(), and how many failed.
  round_buckets bigint[] not null default array_fill(0::bigint, array[15]),
  round_seconds double precision not null default 0,
  failed_rounds bigint not null default 0
) with (fillfactor = 50);
insert into millrace.dispatcher_runs default values;
grant select, update on millrace.dispatcher_runs to millrace_runtime;
grant select on millrace.dispatcher_runs to millrace_operator;
