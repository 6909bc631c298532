-- Numbers beside the counters: events by the minute, how long jobs waited and ran, and how many there are.

-- What maintain folded, by the minute in which it did. Kept for two hours: throughput of the last minutes and hour.
create table millrace.job_event_minutes (
  minute timestamptz not null,
  event text not null,
  job_type text not null,
  status text not null,
  count bigint not null,
  primary key (minute, event, job_type, status)
) with (fillfactor = 50);

-- How long attempts waited, from due to start, and ran. Like the counters: a statement appends a row for each kind, and
-- maintain folds them. A bucket is the place of its upper bound among millrace.timing_bounds(), from 0.
create table millrace.job_timings (
  job_type text not null,
  outcome text not null,
  wait_bucket smallint not null,
  run_bucket smallint not null,
  count bigint not null check (count > 0),
  wait_seconds double precision not null,
  run_seconds double precision not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- Kept for ever, a row a series: `measure` is wait or run.
create table millrace.job_timing_totals (
  measure text not null check (measure in ('wait', 'run')),
  job_type text not null,
  outcome text not null,
  bucket smallint not null,
  count bigint not null,
  seconds double precision not null,
  primary key (measure, job_type, outcome, bucket)
) with (fillfactor = 50);

-- Upper bounds of the buckets, in seconds; one more bucket has none. A function lasts 900 s at most.
create function millrace.timing_bounds() returns double precision[]
  language sql immutable parallel safe
  as $$ select array[0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900]::double precision[] $$;

-- The live jobs as they were counted last: counting millions takes a second, and nobody who asks should wait for it.
create table millrace.job_counts (
  status text not null,
  job_type text not null,
  count bigint not null,
  counted_at timestamptz not null default millrace.clock(),
  primary key (status, job_type)
) with (fillfactor = 50);

-- The dispatcher's own: how long its rounds took, in the buckets of millrace.timing_bounds(), and how many failed.
alter table millrace.dispatcher_runs
  add column round_buckets bigint[] not null default array_fill(0::bigint, array[15]),
  add column round_seconds double precision not null default 0,
  add column failed_rounds bigint not null default 0;
-- Messages sent, by queue, and jobs that were not, by reason. Only dispatchers write it. Kept for ever, a row a series.
create table millrace.dispatch_totals (
  measure text not null check (measure in ('sent', 'error')),
  label text not null,
  count bigint not null,
  primary key (measure, label)
) with (fillfactor = 50);
grant select, insert, update, delete on millrace.dispatch_totals to millrace_runtime;
grant select on millrace.dispatch_totals to millrace_operator;

revoke execute on function millrace.timing_bounds() from public;
grant execute on function millrace.timing_bounds() to millrace_runtime, millrace_operator;
grant select, insert, update, delete on millrace.job_event_minutes, millrace.job_timings, millrace.job_timing_totals,
  millrace.job_counts to millrace_runtime;
grant select on millrace.job_event_minutes, millrace.job_timings, millrace.job_timing_totals, millrace.job_counts
  to millrace_operator;
