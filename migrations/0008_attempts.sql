-- How attempts start and settle, for core/jobs/start.ts and core/jobs/settle.ts. They are functions because Postgres
-- keeps the plans of a function's statements for the life of the session: planning was two fifths of their cost. They
-- keep no state that a pooler could mix up.

-- Starts the jobs that can start at once: dispatched under the message's claim, without a request to cancel, and no
-- suspect unless with_suspects, and not too late. Returns a row for each job that started; `ord` is the position of its message, from 1.
-- The lease lasts as long as the registry or the running code says, whichever is longer: during a deployment, they differ.
-- The other jobs are unchanged. A payload that is too large is null. Waits for locked rows; the caller sets a lock timeout.
-- One probe of a key per message, even with a plan
-- that Postgres made while the table was small.
create function millrace.start_jobs(
  job_ids bigint[], claim_nos bigint[], message_ids text[], sent_ms bigint[], epochs text[],
  of_type text, of_key text, request text, with_suspects boolean, lease_seconds integer
) returns table (ord integer, payload text, attempt integer, max_attempts integer, retry_policy jsonb,
                 wait_seconds double precision, traceparent text)
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
  as $$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select * from unnest(job_ids, claim_nos, message_ids, start_jobs.sent_ms, epochs)
        with ordinality as i(job_id, claim_no, message_id, sent_ms, epoch, ord)
      where i.epoch = (select n.epoch from millrace.installation n where n.only_row)
        and i.job_id <> all(array(select c.job_id from millrace.cancel_requests c where c.job_id = any(job_ids)))
  ), started as (
    update millrace.jobs_live j
      -- A start proves that messages of the job arrive, so only losses in a row count.
      set status = 'running', attempts = least(j.attempts, 2147483646) + 1, losses = 0, started_at = millrace.clock(),
          updated_at = millrace.clock(),
          lease_expires_at = millrace.clock() + make_interval(secs => greatest(h.running_lease_seconds, lease_seconds)),
          progress = null, message_id = i.message_id,
          message_sent_at = timestamptz 'epoch' + i.sent_ms * interval '1 millisecond',
          request_id = request
      from asked i, millrace.handlers h
      where j.id = i.job_id and j.id = any(job_ids) and j.claim_no = i.claim_no and j.status = 'dispatched'
        and j.job_type = of_type and j.routing_key = of_key and (not j.suspect or with_suspects)
        and (j.attempts = 0 and j.start_by < millrace.clock()) is not true
        and h.job_type = of_type and h.routing_key = of_key
      returning i.ord, j.payload::text as payload, j.attempts, j.max_attempts, j.claim_no, h.retry_policy,
                left(j.traceparent, 55) as traceparent,
                date_part('epoch', j.started_at - greatest(j.run_at, j.next_retry_at)) as wait_seconds
  ), seen as (
    -- Only if it rises, and only if no other transaction has locked the row: it distinguishes a lost message from a
    -- slow queue.
    update millrace.handler_starts s set claim_no = (select max(claim_no) from started)
      where s.ctid = (select t.ctid from millrace.handler_starts t
                        where t.job_type = of_type and t.routing_key = of_key
                          and t.claim_no < (select max(claim_no) from started)
                        for update skip locked)
  )
  -- The same rule as in millrace.payload_text: a call would take a tenth of the time.
  select s.ord::integer, case when octet_length(s.payload) <= 1048576 then s.payload end, s.attempts, s.max_attempts,
         s.retry_policy, s.wait_seconds, s.traceparent
    from started s;
end $$;

-- An attempt that settle ends: its row, and the outcome that the runtime or rescue reported.
create type millrace.ended_attempt as (
  id bigint, claim_no bigint, job_type text, attempts integer, started_at timestamptz, request_id text,
  wait_seconds double precision, kind text, status text, result text, error_name text, error_message text,
  error_stack text, fingerprint text, delay double precision, suspect boolean
);

-- Settles attempts: ends each under its claim with its outcome, and returns those that it ended. `kind` is the outcome
-- as the runtime or rescue saw it; the row's max_attempts and a request to cancel decide the status. `suspects` marks
-- attempts that may have ended their process: those jobs start alone next time. With a request,
-- only attempts of that Lambda request; without one this is a rescue, and only attempts whose lease has expired. Locked
-- jobs are skipped. Another transaction may have locked a dead letter or a request to cancel: the function then fails
-- within 200 ms, and the caller settles row by row. A batch that has all succeeded calls millrace.finish alone.
create function millrace.settle(
  job_ids bigint[], claim_nos bigint[], kinds text[], results text[], error_names text[], error_messages text[],
  error_stacks text[], fingerprints text[], delays double precision[], suspects boolean[], request text
) returns table (id bigint, status text, due_at timestamptz)
  language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '200ms'
  set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
  as $$
#variable_conflict use_column
declare
  ended millrace.ended_attempt[];
begin
  ended := array(
    select row(j.id, j.claim_no, j.job_type, j.attempts, j.started_at, j.request_id,
               date_part('epoch', j.started_at - j.due_at), i.kind,
               case when i.kind = 'succeeded' then 'succeeded'
                    when i.kind = 'skipped' then 'skipped'
                    when i.kind = 'cancelled' or c.job_id is not null then 'cancelled'
                    when i.kind = 'snoozed' then 'pending'
                    when i.kind = 'dead_letter' or j.attempts >= j.max_attempts then 'dead_letter'
                    else 'failed' end,
               i.result, i.error_name, i.error_message, i.error_stack, i.fingerprint, i.delay,
               i.suspect)::millrace.ended_attempt
      from (select * from unnest(job_ids, claim_nos, kinds, results, error_names, error_messages, error_stacks,
                     fingerprints, delays, settle.suspects)
                   as u(job_id, claim_no, kind, result, error_name, error_message, error_stack, fingerprint, delay,
                        suspect)
              order by job_id) i
      cross join lateral (
        select k.id, k.claim_no, k.job_type, k.attempts, k.max_attempts, k.started_at, k.request_id,
               greatest(k.run_at, k.next_retry_at) as due_at
          from millrace.jobs_live k
          where k.id = i.job_id and k.claim_no = i.claim_no and k.status = 'running'
            and (k.request_id = request or request is null and k.lease_expires_at < millrace.clock())
          for update skip locked
      ) j
      left join (select r.job_id from millrace.cancel_requests r where r.job_id = any(job_ids)) c on c.job_id = j.id);
  perform millrace.finish(array_agg(e.id), null, array_agg(e.status), array_agg(e.result), array_agg(e.error_message),
      array_agg(e.kind in ('failed', 'dead_letter')), null)
    from unnest(ended) e where e.status in ('succeeded', 'skipped', 'cancelled') having count(*) > 0;
  perform millrace.die(array_agg(e.id), array_agg(e.error_name), array_agg(e.error_message), array_agg(e.error_stack),
      array_agg(e.fingerprint), suspects => e.suspect)
    from unnest(ended) e where e.status = 'dead_letter' group by e.suspect;
  perform millrace.wait_again(ended);
  return query
    select e.id, e.status,
           case when e.status in ('failed', 'pending') then millrace.clock() + make_interval(secs => e.delay) end
      from unnest(ended) e;
end $$;

-- The rest of settle: jobs that failed or snoozed wait for their next attempt; every attempt that neither succeeded nor
-- died gets its row in job_attempts; and attempts of jobs that did not finish are timed (millrace.finish times its
-- own).
create function millrace.wait_again(ended millrace.ended_attempt[]) returns void
  language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off
  as $$
begin
  with waiting as (
    update millrace.jobs_live j
      set status = e.status, lease_expires_at = null, updated_at = millrace.clock(), suspect = e.suspect,
          start_by = case when e.status = 'pending' then j.start_by end,
          -- A snooze is not a failure: its reason is in job_attempts, and the last failure stays.
          last_error = case when e.status = 'failed' then e.error_message else j.last_error end,
          attempts = j.attempts - case when e.status = 'pending' then 1 else 0 end,
          run_at = case when e.status = 'pending' then millrace.clock() + make_interval(secs => e.delay)
                        else j.run_at end,
          next_retry_at = case when e.status = 'failed' then millrace.clock() + make_interval(secs => e.delay) end
      from unnest(ended) e
      where j.id = e.id and e.status in ('failed', 'pending')
        and j.id = any(array(select a.id from unnest(ended) a))
  ), counted as (
    insert into millrace.job_events (event, job_type, status, count)
      select v.event, e.job_type, 'failed', count(*)
        from unnest(ended) e, (values ('failed'), ('retried')) as v(event)
        where e.status = 'failed'
        group by 1, 2
  ), timed as (
    insert into millrace.job_timings (job_type, outcome, wait_bucket, run_bucket, count, wait_seconds, run_seconds)
      select t.job_type, case t.status when 'pending' then 'snoozed' else t.status end,
             width_bucket(t.wait_seconds, b.bounds), width_bucket(t.run_seconds, b.bounds), count(*),
             sum(t.wait_seconds), sum(t.run_seconds)
        from (select e.job_type, e.status, e.wait_seconds,
                     date_part('epoch', millrace.clock() - e.started_at) as run_seconds
                from unnest(ended) e where e.status in ('failed', 'pending', 'dead_letter')) t,
             (select millrace.timing_bounds() as bounds) b
        group by 1, 2, 3, 4
  )
  insert into millrace.job_attempts (job_id, claim_no, attempt, outcome, error_name, error_message, error_stacktrace,
      fingerprint, started_at, delay_seconds, request_id)
    select e.id, e.claim_no, e.attempts, case e.status when 'pending' then 'snoozed' else e.status end, e.error_name,
           e.error_message, e.error_stack, e.fingerprint, e.started_at,
           case when e.status in ('failed', 'pending') then e.delay end, e.request_id
      from unnest(ended) e where e.status in ('failed', 'pending', 'skipped', 'cancelled')
    on conflict do nothing;
end $$;

revoke execute on function
  millrace.start_jobs(bigint[], bigint[], text[], bigint[], text[], text, text, text, boolean, integer),
  millrace.settle(bigint[], bigint[], text[], text[], text[], text[], text[], text[], double precision[], boolean[],
    text),
  millrace.wait_again(millrace.ended_attempt[]) from public;
grant execute on function
  millrace.start_jobs(bigint[], bigint[], text[], bigint[], text[], text, text, text, boolean, integer),
  millrace.settle(bigint[], bigint[], text[], text[], text[], text[], text[], text[], double precision[], boolean[],
    text),
  millrace.wait_again(millrace.ended_attempt[]) to millrace_runtime;
