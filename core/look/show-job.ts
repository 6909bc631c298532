import { type Job, type JobRow, toJob } from '../job.ts';
import type { Queryable } from '../postgres/database.ts';
import { type Surroundings, whyWaiting } from './why-waiting.ts';

/** An entry of a job's history: a failed attempt, a snooze, a lost message or a redrive. */
export interface ShownAttempt {
  readonly attempt: number;
  readonly outcome: string;
  readonly errorName: string | null;
  readonly errorMessage: string | null;
  readonly errorStacktrace: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date;
  /** Seconds until the next attempt; null when no attempt follows automatically. */
  readonly delaySeconds: number | null;
  readonly requestId: string | null;
}

export interface ShownJob {
  /**
   * The job; `payload` and `result` are JSON text with every inserted digit. `payload` is null when it is too large to
   * read, and `result` without a result.
   */
  readonly job: Job & { readonly payload: string | null; readonly result: string | null };
  /** The newest 100 entries of the history, the newest first. The newest 1.5 MB have their stacks. */
  readonly attempts: readonly ShownAttempt[];
  /** Whether the history has older entries. */
  readonly moreAttempts: boolean;
  /** Whether a handler for it is registered. */
  readonly handled: boolean;
  /** Why the job waits, in one sentence; when it is finished, what waits for its children, or null. */
  readonly waiting: string | null;
}

// Probes the partition of unfinished jobs first, where almost every requested job is; the others cost 32 probes.
const SHOW_JOB = `
  with found as (
    select * from millrace.jobs_live where id = $1::bigint
    union all select * from millrace.jobs_finished where id = $1::bigint
    limit 1
  )
  select j.id, j.job_type, j.routing_key, millrace.payload_text(j.payload) as payload, j.status, j.priority,
         j.attempts, j.max_attempts, j.run_at, j.start_by, j.next_retry_at,
         nullif(j.due_at, timestamptz '9999-12-31 00:00:00+00') as due_at, j.claim_no, j.lease_expires_at,
         j.dispatched_at, j.started_at, j.finished_at, j.created_at, j.updated_at, j.unique_key, j.group_key,
         j.last_error, j.result::text as result, j.progress,
         millrace.clock() as now, h.job_type is not null as handled, h.paused_at, h.held_until, h.hold_reason,
         h.max_in_flight, c.job_id is not null as cancel_requested,
         (select max(r.last_round_at) from millrace.dispatcher_runs r) as last_round_at,
         w.children, w.unfinished_children, w.first_unfinished, w.first_unfinished_status,
         p.waiting_jobs, p.first_waiting,
         (select count(*)::integer from millrace.jobs_live f
            where f.job_type = j.job_type and f.routing_key = j.routing_key and f.in_flight) as in_flight
    from found j
    left join millrace.handlers h on h.job_type = j.job_type and h.routing_key = j.routing_key
    left join millrace.cancel_requests c on c.job_id = j.id
    left join lateral (
      select cardinality(g.children) as children, count(l.id)::integer as unfinished_children,
             min(l.id) as first_unfinished, (array_agg(l.status order by l.id))[1] as first_unfinished_status
        from millrace.job_joins g
        left join lateral unnest(g.children[g.finished + 1 :]) as k(id) on true
        left join millrace.jobs_live l on l.id = k.id and not (g.past_dead and l.status = 'dead_letter')
        where g.job_id = j.id and g.ended_at is null
        group by g.job_id
    ) w on true
    cross join lateral (
      select count(*)::integer as waiting_jobs, min(g.job_id) as first_waiting
        from millrace.job_joins g where g.parent_id = j.id and g.ended_at is null
    ) p`;

/** The largest number of entries of a history that are shown: a job can be snoozed without limit. */
const MOST_ATTEMPTS = 100;

// Lambda returns at most 6 MB, with the payload and the result. The sums count what JSON prints.
const SHOW_ATTEMPTS = `
  select attempt, outcome, error_name as "errorName",
         case when messages <= 1500000 then error_message else left(error_message, 200) end as "errorMessage",
         case when stacks <= 1500000 then error_stacktrace end as "errorStacktrace",
         started_at as "startedAt", finished_at as "finishedAt", delay_seconds as "delaySeconds",
         request_id as "requestId"
    from (select *, sum(octet_length(to_json(coalesce(error_message, ''))::text)) over newest as messages,
                 sum(octet_length(to_json(coalesce(error_stacktrace, ''))::text)) over newest as stacks
            from (select * from millrace.job_attempts where job_id = $1::bigint order by id desc limit $2) a
            window newest as (order by id desc)) m
    order by id desc`;

interface ShowRow extends JobRow, Surroundings {
  payload: string | null;
  result: string | null;
}

/** Returns one job with its history; undefined when no job has this id or it was pruned. */
export async function showJob(db: Queryable, id: string): Promise<ShownJob | undefined> {
  const { rows } = await db.query<ShowRow>(SHOW_JOB, [id]);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { rows: attempts } = await db.query<ShownAttempt>(SHOW_ATTEMPTS, [id, MOST_ATTEMPTS + 1]);
  const job = { ...toJob(row), payload: row.payload, result: row.result };
  const shown = { attempts: attempts.slice(0, MOST_ATTEMPTS), moreAttempts: attempts.length > MOST_ATTEMPTS };
  return { job, ...shown, handled: row.handled, waiting: whyWaiting(job, row, attempts[0]) };
}
