import { type Duration, seconds } from '../duration.ts';
import { SettingError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { InferPayload, PayloadSchema } from './payload.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './retry-policy.ts';
import { SOURCE_RETENTION_SECONDS, timingOf } from './timing.ts';

/** The argument of a handler's `run`. */
export interface RunContext<Payload> {
  readonly payload: Payload;
  /** The job's id, a decimal string; the same in every attempt, so it serves as an idempotency key. */
  readonly jobId: string;
  /** Number of this attempt and largest number of attempts: attempt 2 of 3. */
  readonly attempt: { readonly number: number; readonly max: number };
  /** Aborts at the handler's timeout; pass it to every call that waits. */
  readonly signal: AbortSignal;
  readonly log: Log<string>;
}

/** The options of a handler. A duration is text such as `30s` or `5m`, or a number of seconds. */
export interface HandlerOptions<Schema extends PayloadSchema> {
  /** The kind of work, `[a-z][a-z0-9_]*`, such as `send_reminder`. Stored in rows: never rename. */
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
  /** Packages with native code, such as `sharp`; installed for the function's architecture instead of bundled. */
  nativeModules?: readonly string[];
  run(context: RunContext<InferPayload<Schema>>): Promise<unknown>;
}

/** A checked definition: one file, one Lambda, one queue, one dead-letter queue. */
export interface HandlerDefinition<Schema extends PayloadSchema = PayloadSchema> {
  readonly jobType: string;
  /** Routing key; `''` without one. */
  readonly routingKey: string;
  readonly payload: Schema;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly maxAttempts: number;
  readonly retry: RetryPolicy;
  readonly concurrency: number;
  readonly batch: { readonly size: number; readonly windowSeconds: number };
  readonly maxInFlight: number;
  readonly nativeModules?: readonly string[];
  run(context: RunContext<never>): Promise<unknown>;
}

const MOST_IN_FLIGHT = 100_000;
const NAME = /^[a-z][a-z0-9_]*$/;

/**
 * Defines the handler of one (job type, routing key).
 * @throws SettingError that names the field when an option is out of its bounds.
 */
export function defineHandler<Schema extends PayloadSchema>(
  options: HandlerOptions<Schema>,
): HandlerDefinition<Schema> {
  const { jobType, routingKey = '' } = options;
  checkKeys(options);
  checkCode(options);
  checkName('jobType', jobType);
  if (routingKey !== '') checkName('routingKey', routingKey);
  if (jobType.length + routingKey.length > 60) {
    throw new SettingError('jobType and routingKey', 'at most 60 characters together', `${jobType}.${routingKey}`);
  }
  const concurrency = whole('concurrency', options.concurrency ?? 10, 2, 1000);
  const batch = {
    size: whole('batch.size', options.batch?.size ?? 10, 1, 10_000),
    windowSeconds: wholeSeconds('batch.window', options.batch?.window ?? 0, 0, 300),
  };
  if (batch.size > 10 && batch.windowSeconds === 0) {
    throw new SettingError('batch.window', 'at least 1s when batch.size is over 10', options.batch?.window ?? 0);
  }
  const maxInFlight = options.maxInFlight ?? Math.min(MOST_IN_FLIGHT, 10 * concurrency * batch.size);
  const definition: HandlerDefinition<Schema> = {
    jobType,
    routingKey,
    payload: options.payload,
    timeoutSeconds: wholeSeconds('timeout', options.timeout ?? '30s', 1, 880),
    memoryMb: whole('memory', options.memory ?? 256, 128, 10_240),
    maxAttempts: whole('maxAttempts', options.maxAttempts ?? 5, 1, 1000),
    retry: options.retry ?? DEFAULT_RETRY_POLICY,
    concurrency,
    batch,
    maxInFlight: whole('maxInFlight', maxInFlight, 1, MOST_IN_FLIGHT),
    ...(options.nativeModules !== undefined && { nativeModules: options.nativeModules }),
    run: options.run as HandlerDefinition['run'],
  };
  checkLease(definition);
  return definition;
}

/** Rejects a definition whose dispatched lease is longer than SQS keeps a message. */
function checkLease(definition: HandlerDefinition): void {
  const { dispatchedLease, functionTimeout } = timingOf(definition);
  if (dispatchedLease < SOURCE_RETENTION_SECONDS) return;
  const { maxInFlight, concurrency, batch } = definition;
  const atOnce = concurrency * batch.size;
  // The part of the lease that does not depend on maxInFlight.
  const rest = dispatchedLease - Math.ceil(maxInFlight / atOnce) * functionTimeout;
  const most = Math.floor((SOURCE_RETENTION_SECONDS - 1 - rest) / functionTimeout) * atOnce;
  throw new SettingError(
    'maxInFlight',
    `at most ${most} with concurrency ${concurrency}, or a higher concurrency, because the last job may wait ` +
      `${dispatchedLease} s and SQS keeps a message for ${SOURCE_RETENTION_SECONDS} s`,
    maxInFlight,
  );
}

const KEYS = [
  ...['jobType', 'routingKey', 'payload', 'timeout', 'memory', 'maxAttempts', 'retry', 'concurrency', 'batch'],
  ...['maxInFlight', 'nativeModules', 'run'],
];

/** Rejects a mistyped option, which JavaScript would ignore without an error. */
function checkKeys(options: object): void {
  const unknown = Object.keys(options).find((key) => !KEYS.includes(key));
  if (unknown === undefined) return;
  const message = `unknown option ${unknown}; the options are ${KEYS.join(', ')}`;
  throw new SettingError(unknown, 'a known option', unknown, message);
}

function checkCode({ payload, run }: { payload: PayloadSchema; run: unknown }): void {
  if (typeof payload?.['~standard']?.validate !== 'function') {
    throw new SettingError('payload', 'a schema such as z.object({ … })', payload);
  }
  if (typeof run !== 'function') throw new SettingError('run', 'a function', run);
}

function checkName(field: string, name: string): void {
  if (typeof name === 'string' && NAME.test(name)) return;
  throw new SettingError(field, 'lower-case letters, digits and _, a letter first', name);
}

/** Returns a duration in seconds. The error quotes the value as the author wrote it. */
function wholeSeconds(field: string, duration: Duration | number, least: number, most: number): number {
  const value = seconds(duration, field);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(field, `whole seconds from ${least}s to ${most}s`, duration);
}

/**
 * Returns `value`.
 * @throws SettingError unless it is a whole number within the bounds.
 */
export function whole(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(field, `a whole number from ${least} to ${most}`, value);
}
