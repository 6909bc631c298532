-- Retention and statistics. The dispatcher calls both functions, once an hour.

-- Empties a slot of the ring if its newest row is older than the retention; returns whether it did. Gives up after 50
-- ms, so that other transactions do not queue behind it: late pruning loses nothing.
create function millrace.prune_slot(slot smallint, retention interval) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms'
  as $$
declare
  leaf text := 'millrace.jobs_finished_' || lpad(slot::text, 2, '0');
  young boolean;
begin
  if retention > interval '30 days' or retention < interval '1 hour' then
    raise exception 'retention: expected 1 hour to 30 days, got %', retention using errcode = 'invalid_parameter_value';
  end if;
  -- Jobs that finish now go into today's slot: its first row could arrive between the check below and the lock. A
  -- transaction that began before midnight may still write into yesterday's.
  if slot in (millrace.slot_of(millrace.clock()), millrace.slot_of(millrace.clock() - interval '1 day')) then
    return false;
  end if;
  if pg_relation_size(leaf) = 0 then
    return false;
  end if;
  execute format('select exists (select from %s where finished_at > millrace.clock() - $1)', leaf)
    into young using retention;
  if young then
    return false;
  end if;
  execute format('truncate %s', leaf);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Analyses the partitioned parent: autovacuum analyses leaves only, and only the owner may. Gives up while a vacuum or
-- an index build holds a leaf: statistics that are an hour older will do.
create function millrace.analyze_jobs() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s'
  as $$
begin
  analyze millrace.jobs;
exception when lock_not_available then
  null;
end $$;

revoke execute on function millrace.prune_slot(smallint, interval), millrace.analyze_jobs() from public;
grant execute on function millrace.prune_slot(smallint, interval), millrace.analyze_jobs() to millrace_runtime;
