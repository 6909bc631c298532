-- Retention and statistics, which the function of the mirror maintains.

-- Where the next part of a step continues, and when its last pass ended. A pass under way has a position.
create table millrace.upkeep (
  step text primary key,
  position text,
  passed_at timestamptz
) with (fillfactor = 50);
grant select, insert, update on millrace.upkeep to millrace_runtime;
grant select on millrace.upkeep to millrace_operator;

-- Empties a slot of the ring if its last day ended before the retention; returns whether it did. A slot contains one
-- day in 32, and what is left of an earlier one is older still. It reads only its newest rows, because a job that
-- finished while the clock was ahead is in the slot of a day to come. Gives up after 50 ms, so that other transactions
-- do not queue behind it: late pruning loses nothing.
create function millrace.prune_slot(slot smallint, retention interval) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms'
  as $$
declare
  leaf text := 'millrace.jobs_finished_' || lpad(slot::text, 2, '0');
  today bigint := floor(extract(epoch from millrace.clock()) / 86400);
  newest timestamptz;
  last_day bigint := today - (millrace.slot_of(millrace.clock()) - slot + 32) % 32;
begin
  if retention > interval '30 days' or retention < interval '1 hour' then
    raise exception 'retention: expected 1 hour to 30 days, got %', retention using errcode = 'invalid_parameter_value';
  end if;
  -- Jobs that finish now go into today's slot. A transaction that began before midnight may still write into
  -- yesterday's.
  if last_day >= today - 1 or to_timestamp((last_day + 1) * 86400) > millrace.clock() - retention then
    return false;
  end if;
  if pg_relation_size(leaf) = 0 then
    return false;
  end if;
  -- The rows inserted last are on the last pages, unless these have been vacuumed.
  execute format('select max(finished_at) from (
      (select finished_at from %1$s order by id desc limit 1)
      union all select finished_at from %1$s where ctid >= %2$L) last_rows',
    leaf, format('(%s,0)', greatest(pg_relation_size(leaf) / current_setting('block_size')::bigint - 8, 0))) into newest;
  if newest > millrace.clock() - retention then
    return false;
  end if;
  execute format('truncate %s', leaf);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Analyses the partitioned parents: autovacuum analyses leaves only, and only the owner may. Postgres 15 to 17 cannot
-- leave out the leaves, which with many finished jobs take longer than a statement may: a smaller sample of each
-- suffices. Gives up while a vacuum or an index build holds a leaf, and at the time limit of its caller: statistics
-- that are an hour older suffice, and a try each minute would be no faster.
create function millrace.analyze_jobs() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s'
  as $$
begin
  if current_setting('server_version_num')::integer >= 180000 then
    execute 'analyze only millrace.jobs, only millrace.jobs_finished';
  else
    perform set_config('default_statistics_target', '10', true);
    analyze millrace.jobs;
  end if;
exception when lock_not_available or query_canceled then
  null;
end $$;

revoke execute on function millrace.prune_slot(smallint, interval), millrace.analyze_jobs() from public;
grant execute on function millrace.prune_slot(smallint, interval), millrace.analyze_jobs() to millrace_runtime;
