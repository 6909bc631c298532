-- What the running system does to keep itself in order.

-- Empties a day of the ring if its newest row is older than the retention, and says whether it did. Needs no owner at
-- run time; gives up after 50 ms rather than let others queue behind it: late pruning loses nothing.
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
  -- What finishes now goes into the slot of today: its first row could arrive between the look below and the lock. The
  -- slot of yesterday may still be written by a transaction that began before midnight.
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

-- Autovacuum analyses leaves, never a partitioned parent, and others may not. Statistics of an hour ago will do while a
-- vacuum or an index build has a leaf.
create function millrace.analyze_jobs() returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s'
  as $$
begin
  analyze millrace.jobs;
exception when lock_not_available then
  null;
end $$;

-- To be called after a restore or a clone: messages of the other life are foreign from then on.
create function millrace.renew_epoch() returns text
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  update millrace.installation set epoch = substr(md5(random()::text || clock_timestamp()::text), 1, 12) returning epoch
$$;

revoke execute on all functions in schema millrace from public;
grant execute on function
  millrace.prune_slot(smallint, interval), millrace.analyze_jobs(), millrace.renew_epoch() to millrace_runtime;
