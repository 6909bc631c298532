-- What operators call: redrive, retry, discard, pause.

-- The one redrive behind every door: dead_letter under this claim becomes pending with fresh attempts. A null claim
-- stands for whatever the row has. Whoever comes second finds nothing to do and gets no row. A suspect stays one: what
-- killed its process once may do so again, and its batch-mates with it.
create function millrace.redrive(job_ids bigint[], claim_nos bigint[], door text) returns setof bigint
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  with wanted as materialized (
    select j.id, j.claim_no, j.job_type, j.attempts
      from millrace.jobs_live j
      join unnest(job_ids, claim_nos) as w(id, claim_no) on w.id = j.id
      where j.status = 'dead_letter' and (w.claim_no is null or w.claim_no = j.claim_no)
      order by j.id for update of j skip locked
  ), revived as (
    update millrace.jobs_live j
      set status = 'pending', run_at = millrace.clock(), hold_until = null, attempts = 0, losses = 0,
          updated_at = millrace.clock()
      from wanted w where j.id = w.id
      returning j.id
  ), mirrored as (
    update millrace.dead_letters d
      set status = 'redriven', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = door
      from wanted w where d.job_id = w.id and d.status = 'open'
  ), remembered as (
    insert into millrace.job_attempts (job_id, claim_no, attempt, outcome)
      select w.id, w.claim_no, w.attempts, 'redriven' from wanted w
  ), audited as (
    insert into millrace.audit_log (action, job_id, details)
      select 'redrive', w.id, jsonb_build_object('door', door) from wanted w
  ), counted as (
    insert into millrace.job_events (event, job_type, status, count)
      select 'manual_retry', w.job_type, 'pending', count(*) from wanted w group by w.job_type
  )
  select id from revived
$$;

-- Tries a job again now: 'redriven' (it was dead and has fresh attempts), 'due' (it had failed and no longer waits),
-- 'busy' (its row is locked, try again), 'not_dead' (any other state), 'not_found'.
create function millrace.retry(id bigint) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  found_type text;
begin
  if exists (select from millrace.redrive(array[retry.id], array[null::bigint], 'sql')) then
    return 'redriven';
  end if;
  update millrace.jobs_live j set next_retry_at = millrace.clock(), updated_at = millrace.clock()
    where j.id = (select k.id from millrace.jobs_live k where k.id = retry.id and k.status = 'failed'
                    for update skip locked)
    returning j.job_type into found_type;
  if found then
    insert into millrace.audit_log (action, job_id) values ('retry', retry.id);
    insert into millrace.job_attempts (job_id, attempt, outcome)
      select j.id, j.attempts, 'retried' from millrace.jobs_live j where j.id = retry.id;
    insert into millrace.job_events (event, job_type, status, count) values ('manual_retry', found_type, 'failed', 1);
    return 'due';
  end if;
  if exists (select from millrace.jobs_live j where j.id = retry.id and j.status in ('dead_letter', 'failed')) then
    return 'busy';
  end if;
  if exists (select from millrace.jobs j where j.id = retry.id) then
    return 'not_dead';
  end if;
  return 'not_found';
end $$;

-- The classic shape: what is dead now. Deleting a row discards the job.
create view millrace.failed_jobs as
  select d.id, d.job_id, d.job_type, coalesce(j.status, 'dead_letter') as status, coalesce(j.attempts, 0) as attempts,
         coalesce(j.max_attempts, 0) as max_attempts, d.last_error, d.error_stacktrace,
         coalesce(j.payload, to_jsonb(d.raw_body)) as input_data, coalesce(j.created_at, d.died_at) as created_at,
         d.died_at as updated_at
    from millrace.dead_letters d
    left join millrace.jobs_live j on j.id = d.job_id
    where d.status = 'open';

create function millrace.discard_failed_job() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
begin
  if old.job_id is null then
    update millrace.dead_letters d
      set status = 'discarded', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = 'deleted'
      where d.id = old.id and d.status = 'open';
    return old;
  end if;
  -- A job that somebody else has redriven or is redriving is not ours to discard, and no request to cancel may follow
  -- it back to work: nothing is deleted.
  perform from millrace.jobs_live j
    where j.id = old.job_id and j.status = 'dead_letter' for update skip locked;
  if not found then
    return null;
  end if;
  perform millrace.finish_cancelled(array[old.job_id], 'discarded by ' || millrace.actor());
  insert into millrace.audit_log (action, job_id) values ('discard', old.job_id);
  return old;
end $$;
create trigger discard_failed_job instead of delete on millrace.failed_jobs
  for each row execute function millrace.discard_failed_job();

-- Claims nothing for a handler any more, what is in flight finishes; or claims for it again, from the next round on.
-- False when there is no such handler, or it is so already.
create function millrace.set_paused(job_type text, routing_key text, paused boolean) returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  with changed as (
    update millrace.handlers h set paused_at = case when paused then millrace.clock() end
      where h.job_type = set_paused.job_type and h.routing_key = set_paused.routing_key
        and (h.paused_at is not null) <> paused
      returning h.job_type, h.routing_key
  ), audited as (
    insert into millrace.audit_log (action, details)
      select case when paused then 'pause' else 'resume' end,
             jsonb_build_object('job_type', c.job_type, 'routing_key', c.routing_key) from changed c
  )
  select exists (select from changed)
$$;

create function millrace.pause(job_type text, routing_key text default '') returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$ select millrace.set_paused(job_type, routing_key, true) $$;

create function millrace.resume(job_type text, routing_key text default '') returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$ select millrace.set_paused(job_type, routing_key, false) $$;

revoke execute on all functions in schema millrace from public;
grant execute on function millrace.retry(bigint), millrace.pause(text, text), millrace.resume(text, text)
  to millrace_operator, millrace_runtime;
grant execute on function millrace.redrive(bigint[], bigint[], text) to millrace_runtime;
grant select, delete on millrace.failed_jobs to millrace_operator, millrace_runtime;
