-- Keys that do not simply last until their job has finished. millrace.enqueue and enqueue_many (0006) call these
-- functions. The end of a key is read from its job when the next job with the key is enqueued, so that a key costs its
-- job nothing at the claim, the start and the end.

create table millrace.unique_keys (
  job_type text not null,
  routing_key text not null,
  unique_key text not null,
  job_id bigint not null,
  -- dispatched: while the job waits for its first start. dead_letter: until it is a dead letter or has finished.
  -- finished: until it has finished. period: until ends_at, unless the job is cancelled.
  until text not null,
  -- The key ends then at the latest.
  ends_at timestamptz,
  primary key (job_type, routing_key, unique_key)
);
grant select, update, delete on millrace.unique_keys to millrace_runtime;
grant select on millrace.unique_keys to millrace_operator;

-- The end of a key in the words of unique_keys; null for a key that lasts until its job has finished.
create function millrace.key_end(unique_for interval, unique_until text) returns text
  language sql immutable parallel safe
  return case when unique_for is not null then coalesce(unique_until, 'period') else nullif(unique_until, 'finished') end;

-- What is wrong with the arguments of enqueue that concern the key; null if nothing is.
create function millrace.unique_fault(
  unique_key text, unique_by text, unique_for interval, unique_until text, on_conflict text
) returns text
  language sql immutable parallel safe set search_path = pg_catalog, pg_temp
  return case
    when unique_by <> 'payload' then format('unique_by: expected payload, got %s', left(unique_by, 80))
    when unique_by is not null and unique_key is not null then 'unique_by: expected unique_key or unique_by, not both'
    when unique_until not in ('dispatched', 'dead_letter', 'finished')
      then format('unique_until: expected dispatched, dead_letter or finished, got %s', left(unique_until, 80))
    when on_conflict not in ('skip', 'replace')
      then format('on_conflict: expected skip or replace, got %s', left(on_conflict, 80))
    when unique_for not between interval '1 millisecond' and interval '365 days'
      then format('unique_for: expected more than 0 and at most 365 days, got %s', unique_for)
    when unique_key is null and unique_by is null and num_nonnulls(unique_for, unique_until, on_conflict) > 0
      then format('%s: expected a unique_key or unique_by with it', case when unique_for is not null then 'unique_for'
        when unique_until is not null then 'unique_until' else 'on_conflict' end)
  end;

-- The key of a payload for unique_by: equal for equal JSON values, whatever the order of their fields, the white space
-- and the zeros at the end of a number. jsonb has already sorted the fields; it keeps the zeros of 1.50.
create function millrace.payload_key(payload jsonb) returns text
  language sql immutable parallel safe set search_path = pg_catalog, pg_temp
  return 'payload ' || encode(sha256(convert_to(regexp_replace(payload::text,
    '("(?:[^"\\]|\\.)*")|(\.[0-9]*[1-9])0+(?![0-9])|\.0+(?![0-9])', '\1\2', 'g'), 'UTF8')), 'hex');

-- Whether a row of unique_keys holds its key.
create function millrace.holds_key(job_id bigint, until text, ends_at timestamptz) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  as $$
  select coalesce(holds_key.ends_at > millrace.clock(), true) and (holds_key.until = 'period' or exists (
    select from millrace.jobs_live j
      where j.id = holds_key.job_id and case holds_key.until
        when 'dispatched' then j.status = 'pending' and j.started_at is null
        when 'dead_letter' then j.status <> 'dead_letter'
        else true end))
$$;

-- Locks a job that waits for its first start, if it still does when another transaction no longer has its lock.
create function millrace.lock_waiting_job(job_id bigint, to_replace boolean) returns void
  language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  as $$
begin
  -- Two callers that replace cannot both begin with a shared lock.
  if to_replace then
    perform from millrace.jobs_live j
      where j.id = lock_waiting_job.job_id and j.status = 'pending' and j.started_at is null for no key update;
  else
    perform from millrace.jobs_live j
      where j.id = lock_waiting_job.job_id and j.status = 'pending' and j.started_at is null for share;
  end if;
end $$;

-- The job with a key, and whether it holds the key. The claim skips a job that is locked, so a key that ends at the
-- claim does not end before the caller commits: what the caller has written is there when that job starts. A job to
-- replace is locked too: another transaction may be cancelling it, and the payload would be lost with it.
create function millrace.find_key_holder(job_type text, routing_key text, unique_key text, to_replace boolean)
  returns table (job_id bigint, holds boolean)
  language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  as $$
#variable_conflict use_column
declare
  k millrace.unique_keys;
  indexed_id bigint;
begin
  select j.id into indexed_id from millrace.jobs_live j
    where j.job_type = find_key_holder.job_type and j.routing_key = find_key_holder.routing_key
      and j.unique_key = find_key_holder.unique_key and j.unique_until is null;
  if found then
    if to_replace then
      perform millrace.lock_waiting_job(indexed_id, to_replace);
    end if;
    return query select j.id, true from millrace.jobs_live j where j.id = indexed_id;
    return;
  end if;
  select * into k from millrace.unique_keys u
    where u.job_type = find_key_holder.job_type and u.routing_key = find_key_holder.routing_key
      and u.unique_key = find_key_holder.unique_key;
  if not found then
    return;
  end if;
  -- A key that the dispatcher has ended must not be kept by a lock on its job.
  if (to_replace or k.until = 'dispatched') and coalesce(k.ends_at > millrace.clock(), true) then
    perform millrace.lock_waiting_job(k.job_id, to_replace);
  end if;
  return query select u.job_id, millrace.holds_key(u.job_id, u.until, u.ends_at) from millrace.unique_keys u
    where u.job_type = find_key_holder.job_type and u.routing_key = find_key_holder.routing_key
      and u.unique_key = find_key_holder.unique_key and u.job_id = k.job_id;
end $$;

-- Ends keys that last until their jobs are dispatched, if these jobs have been due for ten seconds. The claim calls
-- it for jobs whose rows are locked: callers of enqueue that follow each other would keep a job locked for as long
-- as one of their transactions is open. The next caller gets another job. Waits for no lock.
create function millrace.end_keys_of_locked_jobs(job_ids bigint[]) returns void
  language sql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
  update millrace.unique_keys k set ends_at = millrace.clock() where k.ctid = any(array(
    select u.ctid from millrace.jobs_live j
      join millrace.unique_keys u on u.job_type = j.job_type and u.routing_key = j.routing_key
        and u.unique_key = j.unique_key and u.job_id = j.id
      where j.id = any(job_ids) and u.until = 'dispatched' and coalesce(u.ends_at > millrace.clock(), true)
        and (j.due_at <= millrace.clock() - interval '10 seconds') is true
      for update of u skip locked))
$$;

-- Frees the keys of cancelled jobs, which hold none even if their period is not over. A row that is locked is one whose
-- hold has ended: another transaction is giving the key to its own job.
create function millrace.free_keys(job_ids bigint[]) returns void
  language sql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  as $$
  delete from millrace.unique_keys k where k.ctid = any(array(
    select u.ctid from millrace.jobs_live j
      join millrace.unique_keys u on u.job_type = j.job_type and u.routing_key = j.routing_key
        and u.unique_key = j.unique_key and u.job_id = j.id
      where j.id = any(job_ids) and j.unique_until is not null
      for update of u skip locked))
$$;

-- Frees a key whose job has finished or is gone, for an operator: its period would otherwise keep it. Returns 'freed',
-- 'held' (an unfinished job holds it: cancel that job, or another transaction is giving it to its own job) or
-- 'not_found'.
create function millrace.free_key(job_type text, unique_key text, routing_key text default '') returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  as $$
#variable_conflict use_column
declare
  k millrace.unique_keys;
begin
  if exists (select from millrace.jobs_live j where j.job_type = free_key.job_type
      and j.routing_key = free_key.routing_key and j.unique_key = free_key.unique_key and j.unique_until is null) then
    return 'held';
  end if;
  select * into k from millrace.unique_keys u
    where u.job_type = free_key.job_type and u.routing_key = free_key.routing_key and u.unique_key = free_key.unique_key
    for update skip locked;
  if not found then
    return case when exists (select from millrace.unique_keys u where u.job_type = free_key.job_type
      and u.routing_key = free_key.routing_key and u.unique_key = free_key.unique_key) then 'held' else 'not_found' end;
  elsif exists (select from millrace.jobs_live j where j.id = k.job_id) then
    return 'held';
  end if;
  delete from millrace.unique_keys u
    where u.job_type = k.job_type and u.routing_key = k.routing_key and u.unique_key = k.unique_key;
  insert into millrace.audit_log (action, job_id, details)
    values ('free_key', k.job_id, jsonb_build_object('job_type', k.job_type, 'routing_key', k.routing_key,
      'unique_key', k.unique_key));
  return 'freed';
end $$;

-- Gives a job that has not been dispatched another payload and other options; returns whether it did. An error has no
-- detail: that of Postgres contains the whole row, which another login may have inserted.
create function millrace.replace_job(
  job_id bigint, payload jsonb, run_at timestamptz, priority integer, max_attempts integer, group_key text,
  traceparent text, start_by timestamptz, on_dead_letter text
) returns boolean
  language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  as $$
begin
  perform millrace.refuse(millrace.broken_rule('any', '', replace_job.payload, replace_job.priority,
    replace_job.max_attempts, replace_job.run_at, replace_job.start_by, null, null, replace_job.group_key,
    replace_job.on_dead_letter, replace_job.traceparent));
  update millrace.jobs_live j
    set payload = replace_job.payload, run_at = replace_job.run_at, priority = replace_job.priority,
        max_attempts = coalesce(replace_job.max_attempts, (select h.max_attempts from millrace.handlers h
          where h.job_type = j.job_type and h.routing_key = j.routing_key), 5),
        group_key = replace_job.group_key, traceparent = replace_job.traceparent, start_by = replace_job.start_by,
        on_dead_letter = replace_job.on_dead_letter, updated_at = millrace.clock()
    where j.id = replace_job.job_id and j.status = 'pending' and j.started_at is null;
  return found;
end $$;

-- Refuses to change such a key by hand: its row of unique_keys would still hold the former one. A statement trigger
-- fires for the table that the statement names. The engine names jobs_live, so this costs it nothing. Without nested
-- loops, because "exists" makes Postgres expect a match soon, and compare each row with each if no key changed.
create function millrace.refuse_key_change() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp set enable_nestloop = off set jit = off
  as $$
begin
  if exists (select from before_update b join after_update a on a.id = b.id
      where b.unique_until is not null and a.unique_key is distinct from b.unique_key) then
    raise exception 'unique_key: the key of a job with unique_for or unique_until does not change'
      using errcode = 'object_not_in_prerequisite_state',
        hint = 'select millrace.cancel(id) frees the key; enqueue a job with the other key.';
  end if;
  return null;
end $$;
create trigger refuse_key_change after update on millrace.jobs
  referencing old table as before_update new table as after_update
  for each statement execute function millrace.refuse_key_change();

revoke execute on function millrace.key_end(interval, text), millrace.payload_key(jsonb),
  millrace.unique_fault(text, text, interval, text, text), millrace.holds_key(bigint, text, timestamptz),
  millrace.lock_waiting_job(bigint, boolean), millrace.find_key_holder(text, text, text, boolean),
  millrace.free_keys(bigint[]), millrace.free_key(text, text, text), millrace.refuse_key_change(),
  millrace.end_keys_of_locked_jobs(bigint[]),
  millrace.replace_job(bigint, jsonb, timestamptz, integer, integer, text, text, timestamptz, text) from public;
grant execute on function millrace.payload_key(jsonb) to millrace_app, millrace_runtime;
grant execute on function millrace.free_key(text, text, text) to millrace_operator, millrace_runtime;
grant execute on function millrace.holds_key(bigint, text, timestamptz), millrace.free_keys(bigint[]),
  millrace.end_keys_of_locked_jobs(bigint[]) to millrace_runtime;
