import { type Duration, seconds } from '../duration.ts';
import { PayloadInvalid, SettingError } from '../errors.ts';
import { type HandlerDefinition, whole } from '../handler/handler.ts';
import type { HandlerAddress } from '../handler/naming.ts';
import type { PayloadSchema } from '../handler/payload.ts';
import { parsePayload, payloadJson } from '../handler/payload.ts';
import { traceCreate } from '../tracing.ts';

/**
 * A pg-like client: `pg.Client`, `pg.PoolClient`, `pg.Pool` and others. The job is inserted inside whatever transaction
 * the client is in, and is gone when that is rolled back.
 */
export interface EnqueueClient {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

export interface EnqueueOptions {
  /** Not before this time. Default now; not together with `delay`. */
  readonly runAt?: Date | undefined;
  /** The same, counted from now by the database's clock: `30s`, `5m`, or seconds. */
  readonly delay?: Duration | undefined;
  /** 0 to 9, lower first. Default 5. */
  readonly priority?: number | undefined;
  /** Total tries, 1 to 1000. Default: what the deployed handler says, 5 when none is known. */
  readonly maxAttempts?: number | undefined;
  /** 1 to 500 characters. While a job of this handler with the same key is not finished, no other is inserted. */
  readonly uniqueKey?: string | undefined;
  /** 1 to 500 characters. Jobs of one group take turns with those of others in the queue. */
  readonly groupKey?: string | undefined;
  /** W3C trace context of whoever wants the job. Default: the active trace of OpenTelemetry, if there is one. */
  readonly traceparent?: string | undefined;
}

export interface Enqueued {
  /** A decimal string. */
  readonly id: string;
  /** A live job held the `uniqueKey`: nothing was inserted, and the id is that job's. */
  readonly deduplicated: boolean;
}

/** What a producer passes, as against what a handler gets after parsing; dates are ISO text in both. */
export type PayloadInput<Schema extends PayloadSchema> = NonNullable<Schema['~standard']['types']>['input'];

/** One job of `enqueueMany`. */
export interface EnqueueItem<Schema extends PayloadSchema = PayloadSchema> extends EnqueueOptions {
  readonly handler: HandlerDefinition<Schema>;
  readonly payload: PayloadInput<Schema>;
}

/** A job as the database's functions take it; the payload is JSON text, so that every digit is kept. */
export interface NewJob extends HandlerAddress, EnqueueOptions {
  readonly payload: string;
}

/** A hundred years. */
const LONGEST_DELAY_SECONDS = 36_500 * 86_400;

const ENQUEUE_JOB = `
  select id::text as id, deduplicated
    from millrace.enqueue($1, $2::text::jsonb,
      coalesce($3::timestamptz, millrace.clock() + make_interval(secs => $4::float8)),
      coalesce($5::integer, 5), $6::integer, $7, $8, $9, $10)`;

/**
 * Puts one job in the table.
 * @throws PayloadInvalid, before anything is inserted, when it cannot be stored or the handler would refuse it.
 * @throws SettingError that names the option when one is out of its bounds.
 */
export async function enqueue<Schema extends PayloadSchema>(
  client: EnqueueClient,
  handler: HandlerDefinition<Schema>,
  payload: PayloadInput<Schema>,
  options: EnqueueOptions = {},
): Promise<Enqueued> {
  const job = await newJob({ ...options, handler, payload });
  return traceCreate([job.jobType], (traceparent) => insertJob(client, { traceparent, ...job }));
}

/** The same for a job whose handler's definition is not at hand: its payload is checked when an attempt begins. */
export async function insertJob(client: EnqueueClient, job: NewJob): Promise<Enqueued> {
  checkOptions(job, '');
  const { runAt, delay, priority, maxAttempts, uniqueKey, groupKey } = job;
  const wait = delay === undefined ? null : seconds(delay, 'delay');
  const times = [runAt?.toISOString() ?? null, wait];
  const keys = [job.routingKey, uniqueKey ?? null, groupKey ?? null, job.traceparent ?? null];
  const values = [job.jobType, job.payload, ...times, priority ?? null, maxAttempts ?? null, ...keys];
  const { rows } = await client.query(ENQUEUE_JOB, values);
  const [row] = rows as Enqueued[];
  if (row === undefined) throw new Error('millrace.enqueue answered no row: is its schema that of another release?');
  return row;
}

const ENQUEUE_JOBS = `
  with item as (
    select item - 'delay' || case when item ? 'delay'
             then jsonb_build_object('run_at', millrace.clock() + make_interval(secs => (item ->> 'delay')::float8))
             else '{}' end as job, position
      from jsonb_array_elements($1::text::jsonb) with ordinality as i(item, position)
  )
  select id::text as id, deduplicated
    from millrace.enqueue_many((select jsonb_agg(job order by position) from item)) order by position`;

/**
 * Puts many jobs in the table in one statement, all or none; answers in the order of the items. They may be of
 * different handlers.
 * @throws PayloadInvalid and SettingError as `enqueue`, with the item's index: `[30]/note`, `items[30].delay`.
 */
export async function enqueueMany<Schemas extends readonly PayloadSchema[]>(
  client: EnqueueClient,
  items: readonly [...{ [Index in keyof Schemas]: EnqueueItem<Schemas[Index]> }],
): Promise<Enqueued[]> {
  const jobs: NewJob[] = [];
  for (const [index, item] of (items as readonly EnqueueItem[]).entries()) {
    const job = await newJob(item).catch((error: unknown) => Promise.reject(placed(error, index)));
    checkOptions(job, `items[${index}].`);
    jobs.push(job);
  }
  const types = jobs.map(({ jobType }) => jobType);
  return traceCreate(types, (traceparent) =>
    insertJobs(
      client,
      jobs.map((job) => ({ traceparent, ...job })),
    ),
  );
}

/** The same for jobs that were checked: their options by `checkOptions`, their payloads as well as can be. */
export async function insertJobs(client: EnqueueClient, jobs: readonly NewJob[]): Promise<Enqueued[]> {
  if (jobs.length === 0) return [];
  const { rows } = await client.query(ENQUEUE_JOBS, [`[${jobs.map(recordText).join()}]`]);
  return rows as Enqueued[];
}

/** Checks the payload as the handler will get it: after JSON, which makes text of a Date. */
async function newJob({ handler, payload, ...options }: EnqueueItem): Promise<NewJob> {
  const json = payloadJson(payload);
  await parsePayload(json, handler.payload);
  return { ...options, jobType: handler.jobType, routingKey: handler.routingKey, payload: json };
}

/** The same fault, which names the item as well. */
function placed(error: unknown, index: number): unknown {
  if (!(error instanceof PayloadInvalid)) return error;
  return new PayloadInvalid(`[${index}]${error.field}`, error.message.slice(`payload${error.field}: `.length));
}

/** The payload's own text goes in: a number that JavaScript reads and writes again can lose digits. */
function recordText({ jobType, routingKey, payload, ...options }: NewJob): string {
  const record = {
    job_type: jobType,
    routing_key: routingKey,
    run_at: options.runAt,
    delay: options.delay === undefined ? undefined : seconds(options.delay, 'delay'),
    priority: options.priority,
    max_attempts: options.maxAttempts,
    unique_key: options.uniqueKey,
    group_key: options.groupKey,
    traceparent: options.traceparent,
  };
  return `${JSON.stringify(record).slice(0, -1)},"payload":${payload}}`;
}

/** @throws SettingError that names the option, with `place` before it. */
export function checkOptions(options: EnqueueOptions, place: string): void {
  const { runAt, delay, priority, maxAttempts } = options;
  if (runAt !== undefined && delay !== undefined) {
    throw new SettingError(`${place}delay`, 'runAt or delay, not both', delay);
  }
  if (runAt !== undefined && !isTime(runAt)) {
    throw new SettingError(`${place}runAt`, 'a valid Date between the years 1 and 9999', runAt);
  }
  if (delay !== undefined && seconds(delay, `${place}delay`) > LONGEST_DELAY_SECONDS) {
    throw new SettingError(`${place}delay`, 'at most 36500d', delay);
  }
  if (priority !== undefined) whole(`${place}priority`, priority, 0, 9);
  if (maxAttempts !== undefined) whole(`${place}maxAttempts`, maxAttempts, 1, 1000);
  for (const key of ['uniqueKey', 'groupKey'] as const) checkKey(`${place}${key}`, options[key]);
}

function isTime(value: unknown): boolean {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) return false;
  const year = value.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

function checkKey(field: string, key: unknown): void {
  if (key === undefined) return;
  const storable = typeof key === 'string' && key.isWellFormed() && !key.includes('\0');
  // Postgres counts code points.
  const length = storable ? [...key].length : 0;
  if (length < 1 || length > 500) throw new SettingError(field, '1 to 500 characters without NUL', key);
}
