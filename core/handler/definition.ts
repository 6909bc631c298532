import { SettingError } from '../errors.ts';
import type { Log } from '../log.ts';
import { JOB_TYPE, JOB_TYPE_EXPECTED } from './naming.ts';
import type { InferPayload, PayloadSchema } from './payload.ts';
import { asObject, checkPolicy, type RetryPolicy } from './policy-fields.ts';
import { readSchedule, type ScheduleOptions } from './schedule.ts';
import { SOURCE_RETENTION_SECONDS, timingOf } from './timing.ts';
import { whole } from './whole.ts';

/** The argument of a handler's `run`. */
export interface RunContext<Payload> {
  readonly payload: Payload;
  /** The job's id, a decimal string; the same in every attempt, so it serves as an idempotency key. */
  readonly jobId: string;
  /** Number of this attempt and maximum number of attempts: attempt 2 of 3. If the last attempt fails, the job dies. */
  readonly attempt: { readonly number: number; readonly max: number; readonly isLast: boolean };
  /** Aborts at the handler's timeout; pass it to every call that waits. */
  readonly signal: AbortSignal;
  readonly log: Log<string>;
  /**
   * Reports how far the attempt is, for `jobs show` and the API: a fraction from 0 to 1, and what it does. Call it as
   * often as you like: the newest report is stored once a second, and a report never fails or delays the attempt. A
   * fraction outside these bounds is moved to them, and one that is not a number is stored as unknown; the
   * log names the first such report of an attempt.
   */
  progress(fraction: number, text?: string): void;
}

/** An option whose default the environment may set. */
export const UNSET_OPTIONS = ['timeout', 'maxAttempts', 'retry'] as const;
export type UnsetOption = (typeof UNSET_OPTIONS)[number];

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
  /** The schedules that enqueue its jobs, by name. */
  readonly schedules?: Readonly<Record<string, ScheduleOptions>>;
  /** The options that the file does not state, and that the environment may set (`variables.ts`). Absent: none. */
  readonly unset?: readonly UnsetOption[];
  run(context: RunContext<InferPayload<Schema>>): Promise<unknown>;
}

/** A definition without its code: plain data, which the registry and AWS receive. */
export type DefinitionData = Omit<HandlerDefinition, 'payload' | 'run'>;

export const MOST_IN_FLIGHT = 100_000;
export const ATTEMPTS_BOUNDS = [1, 1000] as const;
export const TIMEOUT_BOUNDS = [1, 880] as const;
export const CONCURRENCY_BOUNDS = [2, 1000] as const;
export const SIZE_BOUNDS = [1, 10_000] as const;
export const WINDOW_BOUNDS = [0, 300] as const;
const ROUTING_KEY = /^[a-z][a-z0-9_]*$/;
const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/**
 * Checks every field, so that nothing passes that AWS or the database refuses later: a file may change what
 * `defineHandler` returned before it exports it.
 * @throws SettingError that names the field as the option of `defineHandler`.
 */
export function checkDefinition(definition: HandlerDefinition): void {
  const { jobType, routingKey, batch, nativeModules = [] } = definition;
  checkName('jobType', jobType, JOB_TYPE, JOB_TYPE_EXPECTED);
  if (routingKey !== '') {
    checkName('routingKey', routingKey, ROUTING_KEY, 'lower-case letters, digits and _, a letter first');
  }
  if (jobType.length + routingKey.length > 60) {
    throw new SettingError('jobType and routingKey', 'at most 60 characters together', `${jobType}.${routingKey}`);
  }
  checkCode(definition);
  whole('timeout', definition.timeoutSeconds, ...TIMEOUT_BOUNDS);
  whole('memory', definition.memoryMb, 128, 10_240);
  whole('maxAttempts', definition.maxAttempts, ...ATTEMPTS_BOUNDS);
  checkPolicy(definition.retry);
  whole('concurrency', definition.concurrency, ...CONCURRENCY_BOUNDS);
  whole('batch.size', batch?.size, ...SIZE_BOUNDS);
  whole('batch.window', batch.windowSeconds, ...WINDOW_BOUNDS);
  if (batch.size > 10 && batch.windowSeconds === 0) {
    throw new SettingError('batch.window', 'at least 1s when batch.size is over 10', batch.windowSeconds);
  }
  whole('maxInFlight', definition.maxInFlight, 1, MOST_IN_FLIGHT);
  if (!Array.isArray(nativeModules) || !nativeModules.every((name) => typeof name === 'string' && PACKAGE.test(name))) {
    throw new SettingError('nativeModules', "a list of package names, such as ['sharp']", nativeModules);
  }
  checkLease(definition);
  for (const [name, options] of Object.entries(asObject('schedules', definition.schedules ?? {}))) {
    readSchedule(name, definition, options, `schedules.${name}.`);
  }
}

function checkCode({ payload, run }: { payload: PayloadSchema; run: unknown }): void {
  if (typeof payload?.['~standard']?.validate !== 'function') {
    throw new SettingError('payload', 'a schema such as z.object({ … })', payload);
  }
  if (typeof run !== 'function') throw new SettingError('run', 'a function', run);
}

function checkName(field: string, name: string, form: RegExp, expected: string): void {
  if (typeof name === 'string' && form.test(name)) return;
  throw new SettingError(field, expected, name);
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
