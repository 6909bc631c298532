-- What runs for every batch of messages. As functions, because Postgres keeps the plan of a function's statement for as
-- long as the session lives: planning them anew was two fifths of their cost. No state that a pooler could mix up.

-- Begins what can begin without further questions: dispatched under the message's claim, nobody wants it cancelled, and
-- no suspect unless told so. `ord` is the place of the message, from 1; whatever stands in the way of one, it is not in
-- the answer and unchanged. One probe of the primary key a message, whatever the statistics say: while they know of no
-- dispatched job, a join is planned as a scan of the table for each message.
create function millrace.start_jobs(
  job_ids bigint[], claim_nos bigint[], message_ids text[], sent_ms bigint[], epochs text[],
  of_type text, of_key text, request text, with_suspects boolean
) returns table (ord integer, payload text, attempt integer, max_attempts integer, retry_policy jsonb,
                 wait_seconds double precision, traceparent text)
  language plpgsql
  as $$
#variable_conflict use_column
begin
  return query
  with locked as materialized (
    select j.id, i.ord, i.message_id, i.sent_ms
      from (select * from unnest(job_ids, claim_nos, message_ids, start_jobs.sent_ms, epochs)
              with ordinality as i(job_id, claim_no, message_id, sent_ms, epoch, ord)
              where i.epoch = (select n.epoch from millrace.installation n)
                and not exists (select from millrace.cancel_requests c where c.job_id = i.job_id)
              order by job_id) i
      cross join lateral (
        select k.id from millrace.jobs_live k
          where k.id = i.job_id and k.claim_no = i.claim_no and k.status = 'dispatched' and k.job_type = of_type
            and k.routing_key = of_key and (not k.suspect or with_suspects)
          for update skip locked
      ) j
  ), started as (
    update millrace.jobs_live j
      set status = 'running', attempts = least(j.attempts, 2147483646) + 1, started_at = millrace.clock(),
          updated_at = millrace.clock(),
          lease_expires_at = millrace.clock() + make_interval(secs => h.running_lease_seconds),
          message_id = l.message_id, message_sent_at = timestamptz 'epoch' + l.sent_ms * interval '1 millisecond',
          request_id = request
      from locked l, millrace.handlers h
      where j.id = l.id and h.job_type = of_type and h.routing_key = of_key
      returning l.ord, j.payload, j.attempts, j.max_attempts, j.claim_no, h.retry_policy, j.traceparent,
                extract(epoch from j.started_at - greatest(j.run_at, j.next_retry_at))::float8 as wait_seconds
  ), seen as (
    -- Only when it rises, and only if nobody else is writing it: it serves to tell a lost message from a slow queue.
    update millrace.handler_starts s set claim_no = (select max(claim_no) from started)
      where s.ctid = (select t.ctid from millrace.handler_starts t
                        where t.job_type = of_type and t.routing_key = of_key
                          and t.claim_no < (select max(claim_no) from started)
                        for update skip locked)
  )
  select s.ord::integer, s.payload::text, s.attempts, s.max_attempts, s.retry_policy, s.wait_seconds, s.traceparent
    from started s;
end $$;

-- Ends attempts of one request that have all succeeded; answers the ids of those that were ours to end. Whoever holds a
-- request to cancel is not waited for long.
create function millrace.settle_successes(job_ids bigint[], claim_nos bigint[], results text[], request text)
  returns setof bigint
  language plpgsql set lock_timeout = '200ms'
  as $$
begin
  return query
  with locked as materialized (
    select j.id, i.result
      from (select * from unnest(job_ids, claim_nos, results) as i(id, claim_no, result) order by i.id) i
      cross join lateral (
        select k.id from millrace.jobs_live k
          where k.id = i.id and k.claim_no = i.claim_no and k.status = 'running' and k.request_id = request
          for update skip locked
      ) j
  ), finished as (
    delete from millrace.jobs_live j using locked l where j.id = l.id
      returning j.id, j.job_type, j.routing_key, j.payload, j.priority, j.attempts, j.max_attempts, j.run_at,
        j.claim_no, j.message_id, j.message_sent_at, j.request_id, j.dispatched_at, j.started_at, j.created_at,
        j.unique_key, j.group_key, l.result, j.progress, j.traceparent,
        extract(epoch from j.started_at - greatest(j.run_at, j.next_retry_at))::float8 as wait,
        extract(epoch from millrace.clock() - j.started_at)::float8 as run
  ), kept as (
    insert into millrace.jobs_finished (id, slot, job_type, routing_key, payload, status, priority, attempts,
        max_attempts, run_at, claim_no, message_id, message_sent_at, request_id, dispatched_at, started_at, finished_at,
        created_at, updated_at, unique_key, group_key, result, progress, traceparent)
      select f.id, (select millrace.slot_of(millrace.clock())), f.job_type, f.routing_key, f.payload, 'succeeded',
        f.priority, f.attempts, f.max_attempts, f.run_at, f.claim_no, f.message_id, f.message_sent_at, f.request_id,
        f.dispatched_at, f.started_at, millrace.clock(), f.created_at, millrace.clock(), f.unique_key, f.group_key,
        f.result::jsonb, f.progress, f.traceparent
        from finished f
  ), answered as (
    delete from millrace.cancel_requests c using finished f where c.job_id = f.id
  ), counted as (
    insert into millrace.job_events (event, job_type, status, count)
      select 'succeeded', f.job_type, 'succeeded', count(*) from finished f group by f.job_type
  ), timed as (
    insert into millrace.job_timings (job_type, outcome, wait_bucket, run_bucket, count, wait_seconds, run_seconds)
      select f.job_type, 'succeeded', width_bucket(f.wait, b.bounds), width_bucket(f.run, b.bounds), count(*),
             sum(f.wait), sum(f.run)
        from finished f, (select millrace.timing_bounds() as bounds) b
        group by 1, 3, 4
  )
  select f.id from finished f;
end $$;

revoke execute on function
  millrace.start_jobs(bigint[], bigint[], text[], bigint[], text[], text, text, text, boolean),
  millrace.settle_successes(bigint[], bigint[], text[], text) from public;
grant execute on function
  millrace.start_jobs(bigint[], bigint[], text[], bigint[], text[], text, text, text, boolean),
  millrace.settle_successes(bigint[], bigint[], text[], text) to millrace_runtime;
