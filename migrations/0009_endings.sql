-- How a job ends, and how it dies: each is written here once, for every statement that does it.

-- Finishes jobs: moves their rows from jobs_live to today's slot of the ring, and returns their ids. The arrays are
-- parallel: `statuses` is succeeded (or null), skipped or cancelled, `results` is JSON text, `errors` replaces
-- last_error, and `failed` marks a cancelled job whose attempt failed, which counts as failed. A null array stands for
-- nulls. With a request, only running attempts of that Lambda request under these claims: core/jobs/settle.ts calls it for batches
-- that have all succeeded, with a lock timeout. Without one, the caller has checked the state of the rows, and locked rows
-- are skipped.
create function millrace.finish(
  job_ids bigint[], claim_nos bigint[], statuses text[], results text[], errors text[], failed boolean[], request text
) returns setof bigint
  -- One probe of a key per job, even with a plan that Postgres made while the tables were small: without sequential
  -- scans, and by an array of ids, because a join could read a whole index. A hash joins these rows with the
  -- arrays: a nested loop, which suits a kept plan for small batches, would compare each row of a large batch with each
  -- element. Where a penalty applies to the only way, it would make Postgres 15 to 17 compile the statement.
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
  as $$
declare
  l record;
  ended_ids bigint[];
begin
  if request is not null then
    -- Deletes the rows without locking them first, which would cost half as much again.
    select job_ids as ids, claim_nos, statuses, results, errors, failed into l;
  else
    select array_agg(j.id) as ids, null::bigint[] as claim_nos, array_agg(e.status) as statuses,
           array_agg(e.result) as results, array_agg(e.error) as errors, array_agg(e.failed) as failed
      into l
        from (select * from unnest(job_ids, statuses, results, errors, failed)
                     as u(job_id, status, result, error, failed)
                order by job_id) e
        cross join lateral (
          select k.id from millrace.jobs_live k where k.id = e.job_id for update skip locked
        ) j;
    if l.ids is null then
      return;
    end if;
    -- A job that runs is not a dead letter.
    update millrace.dead_letters d
      set status = 'discarded', resolved_at = millrace.clock(), resolved_by = millrace.actor(), resolution = e.error
      from unnest(l.ids, l.errors) as e(id, error), millrace.jobs_live j
      where d.job_id = e.id and d.status = 'open' and d.job_id = any(l.ids)
        and j.id = e.id and j.id = any(l.ids) and j.status = 'dead_letter';
  end if;
  if 'cancelled' = any(l.statuses) then
    perform millrace.free_keys(array(
      select e.id from unnest(l.ids, l.statuses) as e(id, status) where e.status = 'cancelled'));
  end if;
  with ended as (
    -- By id, not by ctid: this statement does not see the place of a row that changed just before it was locked. The
    -- columns are named, because j.* makes the whole statement 3 % slower.
    delete from millrace.jobs_live j
      using unnest(l.ids, l.claim_nos, l.statuses, l.results, l.errors, l.failed)
              as e(id, claim_no, new_status, new_result, error, failed)
      where j.id = e.id and j.id = any(l.ids)
        and (request is null or j.claim_no = e.claim_no and j.status = 'running' and j.request_id = request)
      returning j.id, j.job_type, j.routing_key, j.payload, j.status, j.priority, j.attempts, j.max_attempts, j.run_at,
        j.next_retry_at, j.claim_no, j.message_id, j.message_sent_at, j.request_id, j.dispatched_at, j.started_at,
        j.created_at, j.unique_key, j.group_key, j.last_error, j.progress, j.traceparent, j.inserted_by,
        coalesce(e.new_status, 'succeeded') as new_status, e.new_result, e.error, e.failed
  ), kept as (
    insert into millrace.jobs_finished (id, slot, job_type, routing_key, payload, status, priority, attempts,
        max_attempts, run_at, claim_no, message_id, message_sent_at, request_id, dispatched_at, started_at, finished_at,
        created_at, updated_at, unique_key, group_key, last_error, result, progress, traceparent, inserted_by)
      select g.id, (select millrace.slot_of(millrace.clock())), g.job_type, g.routing_key, g.payload, g.new_status,
        g.priority, g.attempts, g.max_attempts, g.run_at, g.claim_no, g.message_id, g.message_sent_at, g.request_id,
        g.dispatched_at, g.started_at, millrace.clock(), g.created_at, millrace.clock(), g.unique_key, g.group_key,
        case when g.new_status <> 'succeeded' then coalesce(g.error, g.last_error) end, g.new_result::jsonb,
        case when g.new_status <> 'succeeded' then g.progress end, g.traceparent, g.inserted_by
        from ended g
  ), counted as (
    insert into millrace.job_events (event, job_type, status, count)
      select e.event, c.job_type, c.new_status, e.count
        from (select g.job_type, g.new_status, count(*) as jobs, count(*) filter (where g.failed) as failures
                from ended g group by 1, 2) c
        cross join lateral (values (c.new_status, c.jobs), ('failed', c.failures)) as e(event, count)
        where e.count > 0
  ), timed as (
    insert into millrace.job_timings (job_type, outcome, wait_bucket, run_bucket, count, wait_seconds, run_seconds)
      select t.job_type, t.new_status, width_bucket(t.wait, b.bounds), width_bucket(t.run, b.bounds), count(*),
             sum(t.wait), sum(t.run)
        from (select g.job_type, g.new_status,
                     -- Not extract, which returns a numeric: converting it took a tenth of the statement.
                     date_part('epoch', g.started_at - greatest(g.run_at, g.next_retry_at)) as wait,
                     date_part('epoch', millrace.clock() - g.started_at) as run
                from ended g where g.status = 'running') t,
             (select millrace.timing_bounds() as bounds) b
        group by 1, 2, 3, 4
  )
  select array_agg(g.id) into ended_ids from ended g;
  -- A statement of its own also reads the requests that were stored while the one above waited for a row. By id: a look
  -- at whether the table has rows would read all that were deleted behind an old transaction.
  delete from millrace.cancel_requests c where c.job_id = any(ended_ids);
  return query select unnest(ended_ids);
end $$;

-- Finishes jobs as cancelled, for one reason. Every caller has locked the rows of waiting, dispatched or dead jobs.
create function millrace.finish_cancelled(job_ids bigint[], reason text) returns setof bigint
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  select millrace.finish(job_ids, null, array_fill('cancelled'::text, array[cardinality(job_ids)]), null,
    array_fill(reason, array[cardinality(job_ids)]), null, null)
$$;

-- Finishes jobs as skipped that are too late for their first start. Every caller has locked the rows of waiting or
-- dispatched jobs.
create function millrace.finish_late(job_ids bigint[]) returns setof bigint
  language sql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
  as $$
  select millrace.finish(array_agg(j.id), null, array_agg('skipped'::text), null,
      array_agg('not started by ' || to_char(j.start_by at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')), null, null)
    from millrace.jobs_live j where j.id = any(job_ids) having count(*) > 0
$$;

-- Enqueues a job for each dead job whose on_dead_letter, or else that of its handler, names a handler. If the database
-- refuses one, for example by a trigger of the application, the others are enqueued, and the audit log has the reason:
-- the deaths must be stored.
create function millrace.announce_deaths(job_ids bigint[], error_names text[], messages text[]) returns void
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
  as $$
begin
  insert into millrace.jobs_live (job_type, routing_key, payload, on_dead_letter)
    select split_part(d.target, '.', 1), split_part(d.target, '.', 2),
           jsonb_build_object('job_id', d.id::text, 'job_type', d.job_type, 'routing_key', d.routing_key,
             'attempts', d.attempts, 'error_name', d.error_name, 'error_message', left(d.message, 10000),
             'died_at', to_char(millrace.clock() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')), ''
      from (select j.id, j.job_type, j.routing_key, j.attempts, e.error_name, e.message,
                   coalesce(j.on_dead_letter, h.on_dead_letter) as target
              from unnest(job_ids, error_names, messages) as e(id, error_name, message)
              join millrace.jobs_live j on j.id = e.id and j.id = any(job_ids)
              left join millrace.handlers h on h.job_type = j.job_type and h.routing_key = j.routing_key) d
      where d.target <> '' order by d.id;
exception when others then
  if cardinality(job_ids) = 1 then
    insert into millrace.audit_log (action, job_id, details)
      values ('refuse_on_dead_letter', job_ids[1], jsonb_build_object('error', sqlerrm));
    return;
  end if;
  for n in 1..cardinality(job_ids) loop
    perform millrace.announce_deaths(job_ids[n : n], error_names[n : n], messages[n : n]);
  end loop;
end $$;

-- Makes jobs dead letters. Every caller has locked the rows and checked their state. The arrays are parallel; a job
-- whose error_name is null dies without an attempt and gets no row in job_attempts, and one without a fingerprint gets
-- that of its message and handler. `suspects`: the attempts ended by rescue. `lost`: SQS lost the messages once more. Returns the
-- ids. Each death enqueues a job for the handler that the job, or else its own handler, names in on_dead_letter; the
-- death of that job enqueues none.
create function millrace.die(
  job_ids bigint[], error_names text[], messages text[], stacks text[] default null, fingerprints text[] default null,
  suspects boolean default null, lost boolean default false
) returns setof bigint
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
  as $$
declare
  dead bigint[];
  announces boolean;
begin
  with dying as materialized (
    select j.id, j.claim_no, j.job_type, j.routing_key, j.attempts, e.error_name, e.message, e.stack, e.fingerprint,
           coalesce(j.on_dead_letter,
             (select h.on_dead_letter from millrace.handlers h
                where h.job_type = j.job_type and h.routing_key = j.routing_key)) as on_dead_letter,
           case when j.status = 'running' then j.started_at end as started_at,
           case when j.status = 'running' then j.request_id end as request_id
      from unnest(job_ids, error_names, messages, stacks, fingerprints)
             as e(id, error_name, message, stack, fingerprint)
      join millrace.jobs_live j on j.id = e.id and j.id = any(job_ids)
  ), died as (
    update millrace.jobs_live j
      set status = 'dead_letter', last_error = d.message, suspect = coalesce(suspects, j.suspect),
          losses = j.losses + lost::integer, lease_expires_at = null, next_retry_at = null, hold_until = null,
          start_by = null, updated_at = millrace.clock()
      from dying d where j.id = d.id and j.id = any(job_ids)
  ), recorded as (
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, error_stacktrace,
        fingerprint)
      select d.id, d.claim_no, d.job_type, d.routing_key, d.message, d.stack,
             coalesce(d.fingerprint, md5(concat_ws(' ', d.job_type, d.routing_key, d.message)))
        from dying d
      on conflict (job_id) where status = 'open' do nothing
  ), attempted as (
    insert into millrace.job_attempts (job_id, claim_no, attempt, outcome, error_name, error_message, error_stacktrace,
        fingerprint, started_at, request_id)
      select d.id, d.claim_no, d.attempts, 'dead_letter', d.error_name, d.message, d.stack, d.fingerprint, d.started_at,
             d.request_id
        from dying d where d.error_name is not null
      on conflict do nothing
  ), counted as (
    -- A dead job counts as failed even if no attempt of it did, so that the sums over the counters are exact.
    insert into millrace.job_events (event, job_type, status, count)
      select e.event, d.job_type, 'dead_letter', count(*)
        from dying d, (values ('failed'), ('dead_lettered')) as e(event)
        group by 1, 2
  )
  select array_agg(d.id), coalesce(bool_or(d.on_dead_letter <> ''), false) into dead, announces from dying d;
  if announces then
    perform millrace.announce_deaths(job_ids, error_names, messages);
  end if;
  return query select unnest(dead);
end $$;

revoke execute on function millrace.announce_deaths(bigint[], text[], text[]),
  millrace.finish(bigint[], bigint[], text[], text[], text[], boolean[], text),
  millrace.finish_cancelled(bigint[], text), millrace.finish_late(bigint[]),
  millrace.die(bigint[], text[], text[], text[], text[], boolean, boolean) from public;
grant execute on function millrace.announce_deaths(bigint[], text[], text[]),
  millrace.finish(bigint[], bigint[], text[], text[], text[], boolean[], text),
  millrace.finish_cancelled(bigint[], text), millrace.finish_late(bigint[]),
  millrace.die(bigint[], text[], text[], text[], text[], boolean, boolean) to millrace_runtime;
