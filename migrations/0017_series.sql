-- Series: what happened to the jobs of each job type in each minute of the last day and each hour of the last 31 days.
-- The fold (core/dispatch/fold-events.ts) adds each event to its minute and hour in the statement that adds it to its
-- total. The upkeep deletes old rows.
create table millrace.job_numbers (
  step text not null check (step in ('minute', 'hour')),
  -- Start of the minute or hour in which the dispatcher folded the events.
  at timestamptz not null,
  -- `_all` is the sum of all job types, so that its graph reads one row for each point.
  job_type text not null,
  -- Null for zero: a null uses no space, and most minutes have two kinds of events.
  enqueued bigint,
  succeeded bigint,
  failed bigint,
  retried bigint,
  dead_lettered bigint,
  manual_retry bigint,
  skipped bigint,
  cancelled bigint,
  -- Attempts by bucket of millrace.timing_bounds(), up to the last bucket that has any.
  wait_counts bigint[],
  run_counts bigint[],
  primary key (step, at, job_type)
) with (fillfactor = 70);

-- The sum of two arrays of counts, as long as the longer one. Null if both are.
create function millrace.add_counts(one bigint[], other bigint[]) returns bigint[]
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp
  as $$
declare
  total bigint[] := coalesce(one, other);
begin
  if one is null or other is null then
    return total;
  end if;
  for n in 1 .. cardinality(other) loop
    total[n] := coalesce(total[n], 0) + other[n];
  end loop;
  return total;
end $$;

-- The time that this share of the attempts did not exceed, 0.5 for the median: in seconds, to the millisecond.
-- Interpolated within its bucket, as histogram_quantile of Prometheus does; of the last bucket, its lower bound. Null
-- without attempts.
create function millrace.timing_quantile(counts bigint[], share double precision) returns double precision
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp
  as $$
declare
  bounds constant double precision[] := millrace.timing_bounds();
  rank double precision := 0;
  below double precision := 0;
begin
  for n in 1 .. coalesce(cardinality(counts), 0) loop
    rank := rank + counts[n];
  end loop;
  rank := rank * share;
  for n in 1 .. coalesce(cardinality(counts), 0) loop
    if counts[n] > 0 and below + counts[n] >= rank then
      return round((coalesce(bounds[n - 1], 0)
        + coalesce(bounds[n] - coalesce(bounds[n - 1], 0), 0) * (rank - below) / counts[n])::numeric, 3);
    end if;
    below := below + counts[n];
  end loop;
  return null;
end $$;

-- The same numbers for people and dashboards, with zeros and percentiles. Times are in seconds.
create view millrace.job_series as
  select n.step, n.at, n.job_type, coalesce(n.enqueued, 0) as enqueued, coalesce(n.succeeded, 0) as succeeded,
         coalesce(n.failed, 0) as failed, coalesce(n.retried, 0) as retried,
         coalesce(n.dead_lettered, 0) as dead_lettered, coalesce(n.manual_retry, 0) as manual_retry,
         coalesce(n.skipped, 0) as skipped, coalesce(n.cancelled, 0) as cancelled,
         millrace.timing_quantile(n.wait_counts, 0.5) as wait_p50,
         millrace.timing_quantile(n.wait_counts, 0.95) as wait_p95,
         millrace.timing_quantile(n.run_counts, 0.5) as run_p50,
         millrace.timing_quantile(n.run_counts, 0.95) as run_p95,
         n.wait_counts, n.run_counts
    from millrace.job_numbers n;

revoke execute on function millrace.add_counts(bigint[], bigint[]),
  millrace.timing_quantile(bigint[], double precision) from public;
grant execute on function millrace.add_counts(bigint[], bigint[]) to millrace_runtime;
grant execute on function millrace.timing_quantile(bigint[], double precision) to millrace_runtime, millrace_operator;
grant select, insert, update, delete on millrace.job_numbers to millrace_runtime;
grant select on millrace.job_numbers to millrace_operator;
grant select on millrace.job_series to millrace_operator, millrace_runtime;
