import { randomUUID } from 'node:crypto';
import { type Duration, seconds } from '../duration.ts';
import { newJob, newJobs, withTrace } from '../enqueue/check-job.ts';
import { checkItems, type NewJob } from '../enqueue/enqueue-options.ts';
import type { Enqueued } from '../enqueue/insert-jobs.ts';
import { jobBody } from '../enqueue/job-body.ts';
import { ApiError, JobEnded, SettingError } from '../errors.ts';
import type { EnqueueItem, EnqueueOptions, HandlerDefinition, PayloadInput } from '../handler/definition.ts';
import type { PayloadSchema } from '../handler/payload.ts';
import { isId, type Job, type JobStatus } from '../job.ts';
import { systemTime } from '../time.ts';
import { traceCreate } from '../tracing.ts';
import { type ApiOptions, openRequests, type SendRequest } from './api-requests.ts';
import type { JsonOf } from './json-of.ts';

/** What `wait` requires of a job: SQL returns only its id. */
export interface AwaitedJob<Result = unknown> {
  readonly id: string;
  /** Has no value: it carries the type of the result. */
  readonly resultType?: Result;
}

/** A job that `enqueue` of a client returned; `wait` knows the type of its result. */
export interface EnqueuedJob<Result = unknown> extends Enqueued, AwaitedJob<Result> {}

/** A job as the API shows it to this caller. */
export interface ShownByApi {
  readonly id: string;
  readonly jobType: string;
  readonly routingKey: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Requires the scope `jobs:read`. */
  readonly lastError: string | null;
  /** As the handler last reported it; null without a report. Requires the scope `jobs:read`. */
  readonly progress: Job['progress'];
  /** Requires the scope `payload:read`; null without a result. */
  readonly result: unknown;
}

export interface WaitOptions {
  /** Longest wait, such as `30s`. Default: none. */
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
}

/** Calls the HTTP API of a deployment. */
export interface ApiClient {
  /**
   * Enqueues one job. A request whose answer is lost is repeated, and enqueues once.
   * @throws PayloadInvalid and SettingError as `enqueue` does, ApiError if the API refuses the job or does not answer.
   */
  enqueue<Schema extends PayloadSchema, Result>(
    handler: HandlerDefinition<Schema, Result>,
    payload: PayloadInput<Schema>,
    options?: EnqueueOptions,
  ): Promise<EnqueuedJob<JsonOf<Result>>>;
  /** Enqueues up to 1,000 jobs, all or none, and returns them in the order of the items. */
  enqueueMany<Schemas extends readonly PayloadSchema[]>(
    items: readonly [...{ [Index in keyof Schemas]: EnqueueItem<Schemas[Index]> }],
  ): Promise<EnqueuedJob[]>;
  /** Returns a job; undefined if it is unknown or was deleted. */
  show(id: string): Promise<ShownByApi | undefined>;
  /**
   * Waits until a job has succeeded, and returns its result, as JSON stores it. Requires the scope `payload:read`.
   * Accepts the job that `enqueue` returned, or an id, such as one that another process kept.
   * @throws JobEnded if it is skipped, cancelled or a dead letter; ApiError if it does not end in time.
   */
  wait<Result = unknown>(job: AwaitedJob<Result> | string, options?: WaitOptions): Promise<Result>;
  /** Cancels a job. Returns `requested` if it is in flight, and `finished` if it is too late. */
  cancel(id: string): Promise<'cancelled' | 'requested' | 'finished'>;
}

const FIRST_POLL_MS = 100;
const LONGEST_POLL_MS = 2_000;

/** Returns a client of the HTTP API. */
export function openClient(options: ApiOptions): ApiClient {
  const send = openRequests(options);
  return {
    enqueue: async (handler, payload, given = {}) => {
      const [one] = await insert(send, '/jobs', [{ ...given, handler, payload }]);
      return one as EnqueuedJob<never>;
    },
    enqueueMany: async (items) => {
      checkItems(items);
      return items.length === 0 ? [] : insert(send, '/jobs/bulk', items as readonly EnqueueItem[]);
    },
    show: (id) => show(send, id),
    wait: async (job, waiting = {}) => (await waitFor(send, idOf(job), waiting)) as never,
    cancel: async (id) => {
      try {
        const { answer } = (await send({ path: `/jobs/${checkId(id)}/cancel`, method: 'POST' })) as CancelDocument;
        return answer;
      } catch (error) {
        if (error instanceof ApiError && error.problem === 'invalid-state') return 'finished';
        throw error;
      }
    },
  };
}

interface CancelDocument {
  readonly answer: 'cancelled' | 'requested';
}

async function insert(send: SendRequest, path: string, items: readonly EnqueueItem[]): Promise<EnqueuedJob[]> {
  const isBulk = path.endsWith('bulk');
  const jobs = isBulk ? await newJobs(items) : [await newJob(items[0] as EnqueueItem, '')];
  const types = jobs.map(({ jobType }) => jobType);
  return traceCreate(types, async (created) => {
    const bodies = jobs.map(jobBody);
    const { traceparent } = withTrace(jobs[0] as NewJob, created);
    const body = isBulk ? `{"jobs":[${bodies.join()}]}` : (bodies[0] ?? '{}');
    const answer = await send({ path, method: 'POST', body, idempotencyKey: randomUUID(), traceparent });
    const documents = isBulk ? (answer as { items: Enqueued[] }).items : [answer as Enqueued];
    return documents.map(({ id, deduplicated, replaced }) => ({ id, deduplicated, replaced }));
  });
}

interface JobDocument {
  readonly id: string;
  readonly job_type: string;
  readonly routing_key: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly last_error?: string | null;
  readonly progress?: Job['progress'];
  readonly result?: unknown;
}

async function read(send: SendRequest, id: string, signal?: AbortSignal): Promise<JobDocument | undefined> {
  try {
    return (await send({ path: `/jobs/${checkId(id)}`, signal })) as JobDocument;
  } catch (error) {
    if (error instanceof ApiError && error.problem === 'not-found') return undefined;
    throw error;
  }
}

async function show(send: SendRequest, id: string): Promise<ShownByApi | undefined> {
  const found = await read(send, id);
  if (found === undefined) return undefined;
  const { job_type: jobType, routing_key: routingKey, max_attempts: maxAttempts, status, attempts } = found;
  const { last_error: lastError = null, progress = null, result = null } = found;
  return { id, jobType, routingKey, status, attempts, maxAttempts, lastError, progress, result };
}

async function waitFor(send: SendRequest, id: string, { timeout, signal }: WaitOptions): Promise<unknown> {
  const end = timeout === undefined ? Number.POSITIVE_INFINITY : systemTime.now() + seconds(timeout, 'timeout') * 1000;
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 1.5, LONGEST_POLL_MS)) {
    const job = await read(send, id, signal);
    if (job === undefined) throw new ApiError(`no job has the id ${id}: it was deleted, or never existed`, 404);
    if (job.status === 'succeeded') return resultOf(job);
    if (job.status === 'skipped' || job.status === 'cancelled' || job.status === 'dead_letter') {
      throw new JobEnded(id, job.status, job.last_error ?? null);
    }
    if (systemTime.now() + pause > end) throw new ApiError(`job ${id} is still ${job.status} after ${timeout}`, null);
    await systemTime.sleep(pause, signal);
    signal?.throwIfAborted();
  }
}

function resultOf({ id, result }: JobDocument): unknown {
  if (result !== undefined) return result;
  throw new ApiError(`job ${id} succeeded, but the key lacks the scope payload:read, which shows its result`, 403);
}

function idOf(job: AwaitedJob | string): string {
  const id: unknown = typeof job === 'string' ? job : job?.id;
  if (typeof id === 'string') return id;
  throw new SettingError('job', 'the job that enqueue returned, or its id', job);
}

function checkId(id: string): string {
  if (isId(id)) return id;
  throw new SettingError('id', 'the id of a job, such as 42', id);
}
