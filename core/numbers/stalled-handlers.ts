import { type HandlerAddress, queueNameOf } from '../handler/naming.ts';
import { LEASE_GRACE_SECONDS, STALLED_SECONDS, VISIBILITY_FACTOR } from '../handler/timing.ts';
import type { Queryable } from '../postgres/database.ts';

/** A handler that has jobs and starts none. */
export interface StalledHandler extends HandlerAddress {
  readonly queue: string;
  /** How long its oldest message, or its oldest due job, has waited. */
  readonly seconds: number;
  /** Whether its jobs are in its queue; otherwise the dispatcher does not send them. */
  readonly sent: boolean;
}

/** A message is not expected to be received faster than this, for example by a new process. */
const SOONEST_SECONDS = 30;

// A backlog is not a stall: its handler runs jobs, or has started one that was dispatched later. A message is late
// after a third of the time in which the queue of a busy handler empties, because rescue ends its lease then and the
// wait begins again. The handlers with a late message are few, so that only for those all jobs in flight are read.
const FIND_STALLED = `
  with timed as (
    select h.*, h.visibility_seconds - $3 * (h.running_lease_seconds - $4) as batch_window from millrace.handlers h
  ), sent as materialized (
    select h.job_type, h.routing_key, h.queue_url, first.dispatched_at as since, true as sent
      from timed h
      left join millrace.handler_starts s using (job_type, routing_key)
      cross join lateral (
        select j.dispatched_at from millrace.jobs_live j
          where j.job_type = h.job_type and j.routing_key = h.routing_key and j.in_flight
            and j.claim_no > coalesce(s.claim_no, 0) and j.status = 'dispatched'
          order by j.claim_no limit 1) first
      where first.dispatched_at < millrace.clock() - make_interval(
        secs => h.batch_window + least($1, greatest($2, (h.dispatched_lease_seconds - h.batch_window) / 3)))
  ), due as materialized (
    select h.job_type, h.routing_key, h.queue_url, first.due_at as since, false as sent
      from millrace.handlers h
      cross join lateral (
        select min(oldest.due_at) as due_at from generate_series(0, 9) as p(priority)
          cross join lateral (select j.due_at from millrace.jobs_live j
            where j.job_type = h.job_type and j.routing_key = h.routing_key and j.priority = p.priority::smallint
              and j.due_at is not null
            order by j.due_at limit 1) oldest) first
      where h.paused_at is null and first.due_at < millrace.clock() - make_interval(secs => $1)
  ), late as (
    select * from sent union all select * from due
  )
  select l.job_type as "jobType", l.routing_key as "routingKey", l.queue_url as "queueUrl", l.sent,
         extract(epoch from millrace.clock() - l.since)::float8 as seconds
    from late l
    where not exists (select from millrace.jobs_live j
      where j.job_type = l.job_type and j.routing_key = l.routing_key and j.in_flight
        and (not l.sent or j.status = 'running'))
    order by l.since`;

/** Returns the handlers that have jobs and start none, the longest wait first. Paused handlers finish what was sent. */
export async function findStalled(db: Queryable): Promise<StalledHandler[]> {
  const values = [STALLED_SECONDS, SOONEST_SECONDS, VISIBILITY_FACTOR, LEASE_GRACE_SECONDS];
  const { rows } = await db.query<Omit<StalledHandler, 'queue'> & { queueUrl: string }>(FIND_STALLED, values);
  return rows.map(({ queueUrl, ...row }) => ({ ...row, queue: queueNameOf(queueUrl) }));
}
