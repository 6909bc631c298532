import { seconds } from '../duration.ts';
import { PayloadInvalid } from '../errors.ts';
import type { HandlerDefinition } from '../handler/handler.ts';
import { handlerName } from '../handler/naming.ts';
import type { PayloadSchema } from '../handler/payload.ts';
import { parsePayload, payloadJson } from '../handler/payload.ts';
import { readTraceparent, traceCreate } from '../tracing.ts';
import {
  ALL_KEYS,
  checkClient,
  checkHandler,
  checkItems,
  checkNames,
  checkOptions,
  type EnqueueClient,
  type EnqueueOptions,
  type NewJob,
  recordText,
  renameTooEarly,
  rowsOf,
  startWithin,
} from './enqueue-options.ts';

export interface Enqueued {
  /** Job id, a decimal string. */
  readonly id: string;
  /** Whether an unfinished job has the `uniqueKey`: nothing was inserted, and the id is that job's. */
  readonly deduplicated: boolean;
}

/** One of the jobs of `enqueueAll`. */
export interface EnqueuedForKey extends Enqueued {
  /** The routing key of its handler; `''` without one. */
  readonly routingKey: string;
}

/** The payload type that a producer passes; a handler receives the parsed type. Dates are ISO text in both. */
export type PayloadInput<Schema extends PayloadSchema> = NonNullable<Schema['~standard']['types']>['input'];

/** One job of `enqueueMany`. */
export interface EnqueueItem<Schema extends PayloadSchema = PayloadSchema> extends EnqueueOptions {
  readonly handler: HandlerDefinition<Schema>;
  readonly payload: PayloadInput<Schema>;
}

// Runs in the caller's session, so every name and operator has its schema: the search path may begin with any other.
const ENQUEUE_JOB = `
  select id::pg_catalog.text as id, deduplicated
    from millrace.enqueue($1, $2::pg_catalog.text::pg_catalog.jsonb,
      coalesce($3::pg_catalog.timestamptz,
        millrace.clock() operator(pg_catalog.+) pg_catalog.make_interval(secs => $4::pg_catalog.float8)),
      coalesce($5::integer, 5), $6::integer, $7, $8, $9, $10,
      coalesce($11::pg_catalog.timestamptz,
        coalesce($3::pg_catalog.timestamptz,
            millrace.clock()
              operator(pg_catalog.+) pg_catalog.make_interval(secs => coalesce($4::pg_catalog.float8, 0)))
          operator(pg_catalog.+) pg_catalog.make_interval(secs => $12::pg_catalog.float8)))`;

/**
 * Enqueues one job.
 * @throws PayloadInvalid, before the insert, when the payload cannot be stored or violates the handler's schema; its
 *   message begins with the handler's name: `send_mail: payload/to: …`.
 * @throws SettingError that names the option when one is out of its bounds.
 */
export async function enqueue<Schema extends PayloadSchema>(
  client: EnqueueClient,
  handler: HandlerDefinition<Schema>,
  payload: PayloadInput<Schema>,
  options: EnqueueOptions = {},
): Promise<Enqueued> {
  checkClient(client);
  const job = await newJob({ ...options, handler, payload }, '');
  const insert = (traceparent: string | undefined) => insertJob(client, withTrace(job, traceparent));
  return traceCreate([job.jobType], insert).catch(renameTooEarly);
}

/** Enqueues a job without its handler's definition: the payload is validated when an attempt starts. */
export async function insertJob(client: EnqueueClient, job: NewJob): Promise<Enqueued> {
  checkOptions(job, '');
  const { runAt, delay, startBy, priority, maxAttempts, uniqueKey, groupKey } = job;
  const times = [runAt?.toISOString() ?? null, delay === undefined ? null : seconds(delay, 'delay')];
  const keys = [job.routingKey, uniqueKey ?? null, groupKey ?? null, job.traceparent ?? null];
  const latest = startBy instanceof Date ? [startBy.toISOString(), null] : [null, startWithin(startBy) ?? null];
  const values = [job.jobType, job.payload, ...times, priority ?? null, maxAttempts ?? null, ...keys, ...latest];
  const [row] = rowsOf(await client.query(ENQUEUE_JOB, values)) as Enqueued[];
  if (row) return row;
  throw new Error('millrace.enqueue returned no row: check that the schema belongs to this release');
}

const ENQUEUE_JOBS = `
  with item as (
    select item operator(pg_catalog.-) array['delay', 'start_within']
             operator(pg_catalog.||) case when item operator(pg_catalog.?) 'delay'
               then pg_catalog.jsonb_build_object('run_at', t.run_at) else '{}' end
             operator(pg_catalog.||) case when item operator(pg_catalog.?) 'start_within'
               then pg_catalog.jsonb_build_object('start_by', t.run_at operator(pg_catalog.+)
                 pg_catalog.make_interval(secs => (item operator(pg_catalog.->>) 'start_within')::pg_catalog.float8))
               else '{}' end as job, position
      from pg_catalog.jsonb_array_elements($1::pg_catalog.text::pg_catalog.jsonb)
        with ordinality as i(item, position),
        lateral (select coalesce((item operator(pg_catalog.->>) 'run_at')::pg_catalog.timestamptz,
          millrace.clock() operator(pg_catalog.+) pg_catalog.make_interval(
            secs => coalesce((item operator(pg_catalog.->>) 'delay')::pg_catalog.float8, 0))) as run_at) t
  )
  select position::integer as index, id::pg_catalog.text as id, routing_key as "routingKey", deduplicated
    from millrace.enqueue_many((select pg_catalog.jsonb_agg(job order by position) from item))
    order by position, routing_key`;

/**
 * Enqueues many jobs in one statement, all or none: one job for each item. Returns the results in the order of the
 * items, which may have different handlers.
 * @throws PayloadInvalid and SettingError like `enqueue`, with the item's index: `[30]/note`, `items[30].delay`.
 */
export async function enqueueMany<Schemas extends readonly PayloadSchema[]>(
  client: EnqueueClient,
  items: readonly [...{ [Index in keyof Schemas]: EnqueueItem<Schemas[Index]> }],
): Promise<Enqueued[]> {
  checkClient(client);
  checkItems(items);
  const jobs: NewJob[] = [];
  for (const [index, item] of (items as readonly EnqueueItem[]).entries()) {
    jobs.push(await newJob(item, `items[${index}].`, `[${index}]`));
  }
  const types = jobs.map(({ jobType }) => jobType);
  return traceCreate(types, async (traceparent) => {
    const traced = jobs.map((job) => withTrace(job, traceparent));
    return (await insertJobs(client, traced)).map(({ id, deduplicated }) => ({ id, deduplicated }));
  });
}

/**
 * Enqueues one job for each deployed handler of a job type, all or none, and returns them in the order of their routing
 * keys. Each job has its own attempts and its own unique key. Any definition of the job type can be `handler`: its
 * schema checks the payload, and its routing key does not matter.
 * @throws PayloadInvalid and SettingError like `enqueue`; an error of the database if no handler is deployed.
 */
export async function enqueueAll<Schema extends PayloadSchema>(
  client: EnqueueClient,
  handler: HandlerDefinition<Schema>,
  payload: PayloadInput<Schema>,
  options: EnqueueOptions = {},
): Promise<EnqueuedForKey[]> {
  checkClient(client);
  const job = { ...(await newJob({ ...options, handler, payload }, '')), routingKey: ALL_KEYS };
  return traceCreate([job.jobType], async (traceparent) => {
    const inserted = await insertJobs(client, [withTrace(job, traceparent)]);
    return inserted.map(({ id, routingKey, deduplicated }) => ({ id, routingKey, deduplicated }));
  });
}

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

/** Validates the payload in the form that the handler receives: after JSON, which converts a Date to text. */
async function newJob({ handler, payload, ...options }: EnqueueItem, place: string, index = ''): Promise<NewJob> {
  checkHandler(handler, place);
  checkNames(options, place);
  checkOptions(options, place);
  const { jobType, routingKey } = handler;
  try {
    const json = payloadJson(payload);
    await parsePayload(json, handler.payload);
    return { ...options, jobType, routingKey, payload: json };
  } catch (error) {
    throw placed(error, index, handlerName(handler));
  }
}

/** Returns the job with its own trace, or else the given one; a header in another format is omitted. */
function withTrace(job: NewJob, traceparent: string | undefined): NewJob {
  return { ...job, traceparent: job.traceparent === undefined ? traceparent : readTraceparent(job.traceparent) };
}

/** Returns the same error with the name of its handler and the index of its item. */
function placed(error: unknown, index: string, handler: string): unknown {
  if (!(error instanceof PayloadInvalid)) return error;
  const faults = error.faults.map((fault) => ({ ...fault, field: `${index}${fault.field}` }));
  const [first, ...others] = faults;
  if (first === undefined) return error;
  return new PayloadInvalid(first.field, first.message, { others, further: error.more, handler });
}
