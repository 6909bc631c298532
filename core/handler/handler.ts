import type { Duration } from '../duration.ts';
import { SettingError } from '../errors.ts';
import type { SettingOptions } from '../settings/declared.ts';
import type { AwsOptions } from './aws/aws-options.ts';
import {
  CONCURRENCY_BOUNDS,
  checkDefinition,
  MOST_IN_FLIGHT,
  SIZE_BOUNDS,
  TIMEOUT_BOUNDS,
  WINDOW_BOUNDS,
} from './check-definition.ts';
import { type BatchResults, type HandlerDefinition, type RunContext, UNSET_OPTIONS } from './definition.ts';
import type { InferPayload, PayloadSchema } from './payload.ts';
import { checkKeys, type RetryPolicy } from './policy-fields.ts';
import { DEFAULT_RETRY_POLICY } from './retry-policy.ts';
import type { ScheduleOptions } from './schedule.ts';
import { whole, wholeSeconds } from './whole.ts';

export type { BatchResults, ChildrenOptions, HandlerDefinition, RunContext } from './definition.ts';

/** The options of a handler. A duration is text such as `30s` or `5m`, or a number of seconds. */
export interface HandlerOptions<
  Schema extends PayloadSchema,
  Result = unknown,
  Settings extends SettingOptions = SettingOptions,
  Secret extends string = string,
> {
  /** The kind of work, `[a-z][a-z0-9_]*` without `__`, such as `send_reminder`. Stored in rows: never rename. */
  jobType: string;
  /** Second part of the address, same alphabet; absent for the handler of jobs without a routing key. */
  routingKey?: string;
  /** Any Standard Schema (zod, valibot, arktype). A job whose payload violates it becomes a dead letter at once. */
  payload: Schema;
  /** Longest duration of one attempt; at most 880 s, because Lambda stops a function after 900 s. Default 30 s. */
  timeout?: Duration;
  /** Memory of the Lambda function in MB, 128 to 10240. Default 256. */
  memory?: number;
  /** Largest number of attempts, including the first. Default 5. */
  maxAttempts?: number;
  retry?: RetryPolicy;
  /** Concurrent batches, 2 to 1000; SQS allows no fewer than 2. Default 10. */
  concurrency?: number;
  /** Jobs in a batch (1 to 10000; more than 10 require a window), and the time that SQS waits for them (0 to 300 s). */
  batch?: { size?: number; window?: Duration };
  /** Limit of jobs in SQS or running, 1 to 100000. Default 10 × concurrency × batch size, within these bounds. */
  maxInFlight?: number;
  /**
   * Name of the handler that gets a job when a job of this one becomes a dead letter, such as `report_failure`. Its
   * payload has the job's id and its last error. Default: none.
   */
  onDeadLetter?: string;
  /** Packages with native code, such as `sharp`; installed for the function's architecture instead of bundled. */
  nativeModules?: readonly string[];
  /** The schedules that enqueue its jobs, by name. A name is unique in the deployment: never rename. */
  schedules?: Readonly<Record<string, ScheduleOptions<ScheduledPayload<Schema>>>>;
  /**
   * Variables that a run reads as `context.settings`, by name, such as `{ API_URL: 'required' }`, or with a default:
   * `{ PAGE_SIZE: { default: '50' } }`. A deployment without a required one is refused.
   */
  settings?: Settings;
  /**
   * Names of secrets that a run reads as `context.secrets`, at most 20: from Secrets Manager on AWS, from `.env` on one
   * machine. A deployment without one of them is refused.
   */
  secrets?: readonly Secret[];
  /** What the function has on AWS only, such as permissions. One machine ignores all of it but `environment`. */
  aws?: AwsOptions;
  run?(context: RunContext<InferPayload<Schema>, keyof Settings & string, Secret>): Promise<Result>;
  /**
   * In place of `run`: runs jobs of a batch together, such as for one insert of many rows. Jobs with an invalid payload
   * are not among them. The timeout and the signal, which all have in common, are those of the whole call; an error
   * that it throws is that of every job.
   */
  runBatch?(
    jobs: readonly RunContext<InferPayload<Schema>, keyof Settings & string, Secret>[],
  ): Promise<BatchResults<Result>>;
}

/** The payload of a schedule, without the member that gets the time of the tick. */
type ScheduledPayload<
  Schema extends PayloadSchema,
  Input = NonNullable<Schema['~standard']['types']>['input'],
> = Input extends object ? Partial<Input> : Input;

/**
 * Defines the handler of one (job type, routing key).
 * @throws SettingError that names the job type and the field when an option is out of its bounds.
 */
export function defineHandler<
  Schema extends PayloadSchema,
  Result,
  Settings extends SettingOptions = Record<never, never>,
  Secret extends string = never,
>(options: HandlerOptions<Schema, Result, Settings, Secret>): HandlerDefinition<Schema, Result> {
  try {
    checkKeys('options', options, KEYS);
    const definition = definitionOf(options);
    checkDefinition(definition);
    return definition;
  } catch (error) {
    throw error instanceof SettingError ? error.of(options?.jobType) : error;
  }
}

function definitionOf<Schema extends PayloadSchema, Result>(
  options: HandlerOptions<Schema, Result>,
): HandlerDefinition<Schema, Result> {
  const { batch = {}, nativeModules, onDeadLetter, schedules, settings, secrets, aws } = options;
  checkKeys('batch', batch, BATCH_KEYS);
  const concurrency = whole('concurrency', options.concurrency ?? 10, ...CONCURRENCY_BOUNDS);
  const size = whole('batch.size', batch.size ?? 10, ...SIZE_BOUNDS);
  return {
    jobType: options.jobType,
    routingKey: options.routingKey ?? '',
    payload: options.payload,
    timeoutSeconds: wholeSeconds('timeout', options.timeout ?? '30s', TIMEOUT_BOUNDS),
    memoryMb: options.memory ?? 256,
    maxAttempts: options.maxAttempts ?? 5,
    retry: options.retry ?? DEFAULT_RETRY_POLICY,
    concurrency,
    batch: { size, windowSeconds: wholeSeconds('batch.window', batch.window ?? 0, WINDOW_BOUNDS) },
    maxInFlight: options.maxInFlight ?? Math.min(MOST_IN_FLIGHT, 10 * concurrency * size),
    ...(nativeModules !== undefined && { nativeModules }),
    ...(onDeadLetter !== undefined && { onDeadLetter }),
    ...(schedules !== undefined && { schedules }),
    ...(settings !== undefined && { settings }),
    ...(secrets !== undefined && { secrets }),
    ...(aws !== undefined && { aws }),
    unset: UNSET_OPTIONS.filter((name) => options[name] === undefined),
    ...codeOf(options),
  };
}

/** Returns `run` and, if the handler has one, `runBatch`. */
function codeOf<Schema extends PayloadSchema, Result>({ run, runBatch }: HandlerOptions<Schema, Result>) {
  if (runBatch === undefined) return { run: run as HandlerDefinition<Schema, Result>['run'] };
  if (run !== undefined) throw new SettingError('runBatch', 'run or runBatch, not both', runBatch);
  if (typeof runBatch !== 'function') throw new SettingError('runBatch', 'a function', runBatch);
  const runOne: HandlerDefinition<Schema, Result>['run'] = async (context) => {
    const results = resultsById(await runBatch([context]));
    if (results.has(context.jobId)) return results.get(context.jobId) as Result;
    throw new Error(NO_RESULT);
  };
  return { run: runOne, runBatch };
}

/** The error of a job that `runBatch` was called with and omitted. */
export const NO_RESULT = 'runBatch returned no result for this job';

/**
 * Returns the results of `runBatch` by the id of the job.
 * @throws TypeError for a value of another form, such as an array.
 */
export function resultsById(returned: unknown): ReadonlyMap<string, unknown> {
  const form = Object.prototype.toString.call(returned);
  if (form === '[object Map]') return returned as ReadonlyMap<string, unknown>;
  if (form === '[object Object]') return new Map(Object.entries(returned as object));
  throw new TypeError('runBatch: expected a Map or an object with the result of each job by its jobId');
}

const KEYS = [
  ...['jobType', 'routingKey', 'payload', 'timeout', 'memory', 'maxAttempts', 'retry', 'concurrency', 'batch'],
  ...['maxInFlight', 'onDeadLetter', 'nativeModules', 'schedules', 'settings', 'secrets', 'aws', 'run', 'runBatch'],
];
const BATCH_KEYS = ['size', 'window'];
