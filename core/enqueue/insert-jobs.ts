import { seconds } from '../duration.ts';
import { type EnqueueClient, rowsOf } from './enqueue-client.ts';
import { checkOptions, type NewJob, recordText, startWithin } from './enqueue-options.ts';

export interface Enqueued {
  /** Job id, a decimal string. */
  readonly id: string;
  /** Whether another job holds the unique key: nothing was inserted, and the id is that job's. */
  readonly deduplicated: boolean;
  /** Whether that job has got the payload and the options of this one, because of `onConflict: 'replace'`. */
  readonly replaced: boolean;
}

/** One of the jobs of `enqueueAll`. */
export interface EnqueuedForKey extends Enqueued {
  /** The routing key of its handler; `''` without one. */
  readonly routingKey: string;
}

// Runs in the caller's session, so every name and operator has its schema: the search path may begin with any other.
const ENQUEUE_JOB = `
  select id::pg_catalog.text as id, deduplicated, replaced
    from millrace.enqueue($1, $2::pg_catalog.text::pg_catalog.jsonb,
      coalesce($3::pg_catalog.timestamptz,
        millrace.clock() operator(pg_catalog.+) pg_catalog.make_interval(secs => $4::pg_catalog.float8)),
      coalesce($5::integer, 5), $6::integer, $7, $8, $9, $10,
      coalesce($11::pg_catalog.timestamptz,
        coalesce($3::pg_catalog.timestamptz,
            millrace.clock()
              operator(pg_catalog.+) pg_catalog.make_interval(secs => coalesce($4::pg_catalog.float8, 0)))
          operator(pg_catalog.+) pg_catalog.make_interval(secs => $12::pg_catalog.float8)), $13, $14,
      pg_catalog.make_interval(secs => $15::pg_catalog.float8), $16, $17)`;

/** Enqueues a job without its handler's definition: the payload is validated when an attempt starts. */
export async function insertJob(client: EnqueueClient, job: NewJob): Promise<Enqueued> {
  checkOptions(job, '');
  const { runAt, delay, startBy, priority, maxAttempts, uniqueKey, groupKey, onDeadLetter } = job;
  const times = [runAt?.toISOString() ?? null, delay === undefined ? null : seconds(delay, 'delay')];
  const keys = [job.routingKey, uniqueKey ?? null, groupKey ?? null, job.traceparent ?? null];
  const latest = startBy instanceof Date ? [startBy.toISOString(), null] : [null, startWithin(startBy) ?? null];
  const values = [job.jobType, job.payload, ...times, priority ?? null, maxAttempts ?? null, ...keys, ...latest];
  const { uniqueBy, uniqueFor, uniqueUntil, onConflict } = job;
  const heldFor = uniqueFor === undefined ? null : seconds(uniqueFor, 'uniqueFor');
  values.push(onDeadLetter ?? null, uniqueBy ?? null, heldFor, uniqueUntil ?? null, onConflict ?? null);
  const [row] = rowsOf(await client.query(ENQUEUE_JOB, values)) as Enqueued[];
  if (row) return row;
  throw new Error('millrace.enqueue returned no row: check that the schema belongs to this release');
}

const ENQUEUE_JOBS = `
  select position::integer as index, id::pg_catalog.text as id, routing_key as "routingKey", deduplicated,
         replaced
    from millrace.enqueue_many(millrace.with_times($1::pg_catalog.text::pg_catalog.jsonb))
    order by position, routing_key`;

/** A job in the table, and the index of the given one that it belongs to. */
export interface InsertedJob extends EnqueuedForKey {
  readonly index: number;
}

/**
 * Enqueues jobs that the caller has already checked: their options with `checkOptions`, their payloads if possible.
 * Returns them in order; a job with the routing key `*` becomes several.
 */
export async function insertJobs(client: EnqueueClient, jobs: readonly NewJob[]): Promise<InsertedJob[]> {
  if (jobs.length === 0) return [];
  return rowsOf(await client.query(ENQUEUE_JOBS, [`[${jobs.map(recordText).join()}]`])) as InsertedJob[];
}
