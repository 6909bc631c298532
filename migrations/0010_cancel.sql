-- How a job is cancelled, and how a dead one is discarded.

-- Cancels a job. Returns 'cancelled' (it waited or was dead), 'requested' (it is in flight: start, settle or rescue
-- will apply the request), 'finished' (too late) or 'not_found'. Never waits for a lock on the row of the job. With a job
-- that waits for children, the dispatcher cancels those that have not started; the id of the finished job that enqueued
-- the children means the job that waits for them.
create function millrace.cancel(id bigint) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_mergejoin = off set jit = off
  as $$
declare
  answers text[];
begin
  perform from millrace.jobs_live j
    where j.id = cancel.id and j.status in ('pending', 'failed', 'dead_letter') for update skip locked;
  if found then
    perform millrace.finish_cancelled(array[cancel.id], 'cancelled by ' || millrace.actor());
    update millrace.job_joins j set cancelled_at = millrace.clock(), cancelled_by = millrace.actor()
      where j.job_id = cancel.id and j.ended_at is null and j.cancelled_at is null;
    insert into millrace.audit_log (action, job_id) values ('cancel', cancel.id);
    return 'cancelled';
  end if;
  if exists (select from millrace.jobs_live j where j.id = cancel.id) then
    insert into millrace.cancel_requests (job_id) values (cancel.id) on conflict do nothing;
    -- A repeated request changes nothing.
    if found then
      update millrace.job_joins j set cancelled_at = millrace.clock(), cancelled_by = millrace.actor()
        where j.job_id = cancel.id and j.ended_at is null and j.cancelled_at is null;
      insert into millrace.audit_log (action, job_id) values ('cancel', cancel.id);
    end if;
    return 'requested';
  end if;
  -- A job that is not retained any longer may still have children that run.
  select array_agg(millrace.cancel(j.job_id)) into answers from millrace.job_joins j
    where j.parent_id = cancel.id and j.ended_at is null and j.cancelled_at is null;
  return case when 'requested' = any(answers) then 'requested' when 'cancelled' = any(answers) then 'cancelled'
    when exists (select from millrace.jobs_finished j where j.id = cancel.id) then 'finished' else 'not_found' end;
end $$;

-- The dead jobs and strays, in the shape of a classic failed_jobs table. Deleting a row discards the job. `created_at`
-- is the time of the death, because queries for the failures of the last hour, or deletes of those older than 30 days,
-- filter by created_at. `job_created_at` is the time of the insert.
create view millrace.failed_jobs as
  select d.id, d.job_id, d.job_type, coalesce(j.status, 'dead_letter') as status, coalesce(j.attempts, 0) as attempts,
         coalesce(j.max_attempts, 0) as max_attempts, d.last_error, d.error_stacktrace,
         coalesce(j.payload, to_jsonb(d.raw_body)) as input_data, d.died_at as created_at, d.died_at as updated_at,
         j.created_at as job_created_at
    from millrace.dead_letters d
    left join millrace.jobs_live j on j.id = d.job_id
    where d.status = 'open';

create function millrace.discard_failed_job() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_mergejoin = off set jit = off
  as $$
begin
  if old.job_id is null then
    update millrace.dead_letters d
      set status = 'discarded', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = 'deleted'
      where d.id = old.id and d.status = 'open';
    if not found then
      return null;
    end if;
    insert into millrace.audit_log (action, details)
      values ('discard', jsonb_build_object('dead_letter', old.id::text));
    return old;
  end if;
  -- If another transaction has redriven the job or is redriving it, nothing is deleted, and no cancel request may
  -- remain for the redriven job.
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

revoke execute on all functions in schema millrace from public;

grant execute on function millrace.cancel(bigint) to millrace_app, millrace_operator, millrace_runtime;
grant select, delete on millrace.failed_jobs to millrace_operator, millrace_runtime;
