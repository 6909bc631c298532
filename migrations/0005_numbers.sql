-- Counters, timings and counts, for metrics and the log.

-- Counters. A statement appends one row for each (event, type, status) and never updates a shared row, because a long
-- transaction of an application would then block settle. Maintain folds them into the totals, which are never deleted:
-- one row per series. Job types that never had a handler are one series, `_other`.
create table millrace.job_events (
  -- enqueued, succeeded, failed, retried, dead_lettered, manual_retry, skipped or cancelled.
  event text not null,
  job_type text not null,
  status text not null,
  count bigint not null
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

-- How long attempts waited (from due to start) and ran. Like counters, a statement appends rows and maintain folds
-- them. A bucket is the index, from 0, of its upper bound in millrace.timing_bounds().
create table millrace.job_timings (
  job_type text not null,
  outcome text not null,
  wait_bucket smallint not null,
  run_bucket smallint not null,
  count bigint not null,
  wait_seconds double precision not null,
  run_seconds double precision not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- Never deleted, one row per series.
create table millrace.job_timing_totals (
  measure text not null check (measure in ('wait', 'run')),
  job_type text not null,
  outcome text not null,
  bucket smallint not null,
  count bigint not null,
  seconds double precision not null,
  primary key (measure, job_type, outcome, bucket)
) with (fillfactor = 50);

-- Upper bounds of the buckets, in seconds; the last bucket has none. A Lambda function runs for at most 900 s.
create function millrace.timing_bounds() returns double precision[]
  language sql immutable parallel safe
  return array[0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900]::double precision[];

-- The latest count of live jobs. Counting millions takes seconds, so the upkeep counts them in parts: it adds to the
-- next count, which replaces the latest one at the end of a pass. Jobs without a handler have the routing key `*`, and
-- those of most job types are one series, `_other`: producers choose job types.
create table millrace.job_counts (
  status text not null,
  job_type text not null,
  routing_key text not null default '',
  count bigint not null default 0,
  due bigint not null default 0,
  next_count bigint not null default 0,
  next_due bigint not null default 0,
  counted_at timestamptz not null default millrace.clock(),
  primary key (status, job_type, routing_key)
) with (fillfactor = 50);

-- Messages sent, by queue, and jobs not sent, by reason. Only dispatchers write it. Never deleted, one row per series.
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
grant select, insert, update, delete on millrace.job_timings, millrace.job_timing_totals,
  millrace.job_counts to millrace_runtime;
grant select on millrace.job_timings, millrace.job_timing_totals, millrace.job_counts
  to millrace_operator;
