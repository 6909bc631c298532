import { SettingError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { InferPayload, PayloadSchema } from './payload.ts';
import { checkPolicy, type RetryPolicy } from './policy-fields.ts';
import { SOURCE_RETENTION_SECONDS, timingOf } from './timing.ts';

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
  run(context: RunContext<InferPayload<Schema>>): Promise<unknown>;
}

export const MOST_IN_FLIGHT = 100_000;
export const TIMEOUT_BOUNDS = [1, 880] as const;
export const CONCURRENCY_BOUNDS = [2, 1000] as const;
export const SIZE_BOUNDS = [1, 10_000] as const;
export const WINDOW_BOUNDS = [0, 300] as const;
const NAME = /^[a-z][a-z0-9_]*$/;
const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/**
 * Checks every field, so that nothing passes that AWS or the database refuses later: a file may change what
 * `defineHandler` returned before it exports it.
 * @throws SettingError that names the field as the option of `defineHandler`.
 */
export function checkDefinition(definition: HandlerDefinition): void {
  const { jobType, routingKey, batch, nativeModules = [] } = definition;
  checkName('jobType', jobType);
  if (routingKey !== '') checkName('routingKey', routingKey);
  if (jobType.length + routingKey.length > 60) {
    throw new SettingError('jobType and routingKey', 'at most 60 characters together', `${jobType}.${routingKey}`);
  }
  checkCode(definition);
  whole('timeout', definition.timeoutSeconds, ...TIMEOUT_BOUNDS);
  whole('memory', definition.memoryMb, 128, 10_240);
  whole('maxAttempts', definition.maxAttempts, 1, 1000);
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

/**
 * Returns `value`.
 * @throws SettingError unless it is a whole number within the bounds.
 */
export function whole(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(field, `a whole number from ${least} to ${most}`, value);
}
