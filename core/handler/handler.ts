import { type Duration, seconds } from '../duration.ts';
import { SettingError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { InferPayload, PayloadSchema } from './payload.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './retry-policy.ts';
import { SOURCE_RETENTION_SECONDS, timingOf } from './timing.ts';

/** What one attempt is given. */
export interface RunContext<Payload> {
  readonly payload: Payload;
  /** The job's id, a decimal string; the same in every attempt, so it serves as an idempotency key. */
  readonly jobId: string;
  /** Which try this is, and how many there are in all: attempt 2 of 3. */
  readonly attempt: { readonly number: number; readonly max: number };
  /** Fires when the handler's timeout is over; pass it to everything that waits. */
  readonly signal: AbortSignal;
  readonly log: Log<string>;
}

/** What an author writes. Durations take `30s`, `5m`, or seconds. */
export interface HandlerOptions<Schema extends PayloadSchema> {
  /** The kind of work, `[a-z][a-z0-9_]*`, such as `send_reminder`. Stored in rows: never rename. */
  jobType: string;
  /** Second half of the address, same alphabet; absent means the one handler of its type. */
  routingKey?: string;
  /** Any Standard Schema (zod, valibot, arktype). A payload that does not fit is a dead letter at once. */
  payload: Schema;
  /** How long one attempt may take; at most 880 s, since Lambda stops at 900. Default 30 s. */
  timeout?: Duration;
  /** MB of the Lambda function, 128 to 10240. Default 256. */
  memory?: number;
  /** Total tries, the first included. Default 5. */
  maxAttempts?: number;
  retry?: RetryPolicy;
  /** How many batches run at the same time, 2 to 1000: SQS allows no less. Default 10. */
  concurrency?: number;
  /** Jobs a batch (1 to 10000, more than 10 needs a window) and how long SQS waits to fill it (0 to 300 s). */
  batch?: { size?: number; window?: Duration };
  /** The most jobs that lie in SQS or run at once, 1 to 100000. Default 10 × concurrency × batch size, within that. */
  maxInFlight?: number;
  /** Packages with machine code, such as `sharp`: installed for the function's architecture instead of bundled. */
  nativeModules?: readonly string[];
  run(context: RunContext<InferPayload<Schema>>): Promise<unknown>;
}

/** A checked definition: one file, one Lambda, one queue, one dead-letter queue. */
export interface HandlerDefinition<Schema extends PayloadSchema = PayloadSchema> {
  readonly jobType: string;
  /** `''` when there is none. */
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
    windowSeconds: whole('batch.window', seconds(options.batch?.window ?? 0, 'batch.window'), 0, 300),
  };
  if (batch.size > 10 && batch.windowSeconds === 0) {
    throw new SettingError('batch.window', 'at least 1s when batch.size is over 10', options.batch?.window ?? 0);
  }
  const maxInFlight = options.maxInFlight ?? Math.min(MOST_IN_FLIGHT, 10 * concurrency * batch.size);
  const definition: HandlerDefinition<Schema> = {
    jobType,
    routingKey,
    payload: options.payload,
    timeoutSeconds: whole('timeout', seconds(options.timeout ?? '30s', 'timeout'), 1, 880),
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

/** SQS must not drop a message for its age while its job is still taken to be on its way. */
function checkLease(definition: HandlerDefinition): void {
  const { dispatchedLease, functionTimeout } = timingOf(definition);
  if (dispatchedLease < SOURCE_RETENTION_SECONDS) return;
  const { maxInFlight, concurrency, batch } = definition;
  const atOnce = concurrency * batch.size;
  // What does not depend on maxInFlight: the lease less its rounds.
  const rest = dispatchedLease - Math.ceil(maxInFlight / atOnce) * functionTimeout;
  const most = Math.floor((SOURCE_RETENTION_SECONDS - 1 - rest) / functionTimeout) * atOnce;
  throw new SettingError(
    'maxInFlight',
    `at most ${most} with concurrency ${concurrency}, or a higher concurrency, since the last of them may wait ` +
      `${dispatchedLease} s and SQS keeps a message for ${SOURCE_RETENTION_SECONDS} s`,
    maxInFlight,
  );
}

const KEYS = [
  ...['jobType', 'routingKey', 'payload', 'timeout', 'memory', 'maxAttempts', 'retry', 'concurrency', 'batch'],
  ...['maxInFlight', 'nativeModules', 'run'],
];

/** A mistyped option would be left out without a word, where no compiler looks. */
function checkKeys(options: object): void {
  const unknown = Object.keys(options).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw new SettingError(unknown, `only what there is (${KEYS.join(', ')})`, unknown);
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

/** @throws SettingError when `value` is anything but a whole number within the bounds. */
export function whole(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(field, `a whole number from ${least} to ${most}`, value);
}
