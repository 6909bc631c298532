import { SettingError } from '../errors.ts';
import { checkDeclared } from '../settings/declared.ts';
import { checkAws } from './aws/aws-options.ts';
import type { HandlerDefinition } from './definition.ts';
import { JOB_TYPE, JOB_TYPE_EXPECTED, LONGEST_NAME } from './naming.ts';
import type { PayloadSchema } from './payload.ts';
import { asObject, checkPolicy } from './policy-fields.ts';
import { readSchedule } from './schedule.ts';
import { SOURCE_RETENTION_SECONDS, timingOf } from './timing.ts';
import { whole } from './whole.ts';

export const MOST_IN_FLIGHT = 100_000;
export const ATTEMPTS_BOUNDS = [1, 1000] as const;
export const TIMEOUT_BOUNDS = [1, 880] as const;
export const CONCURRENCY_BOUNDS = [2, 1000] as const;
export const SIZE_BOUNDS = [1, 10_000] as const;
export const WINDOW_BOUNDS = [0, 300] as const;
const ROUTING_KEY = /^[a-z][a-z0-9_]*$/;
/** The name of a handler, or empty. */
export const TARGET = /^(?:[a-z](?:_?[a-z0-9])*_?(?:\.[a-z][a-z0-9_]*)?)?$/;
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
  checkTarget('onDeadLetter', definition.onDeadLetter);
  checkDeclared(definition);
  checkAws(definition.aws);
  checkProvisioned(definition);
  checkLease(definition);
  for (const [name, options] of Object.entries(asObject('schedules', definition.schedules ?? {}))) {
    readSchedule(name, definition, options, `schedules.${name}.`);
  }
}

/** Rejects what is not the name of a handler, or empty. */
export function checkTarget(field: string, name: unknown): void {
  if (name === undefined || (typeof name === 'string' && name.length <= LONGEST_NAME && TARGET.test(name))) return;
  throw new SettingError(field, "the name of a handler, such as 'report_failure' or 'report_failure.mail'", name);
}

function checkProvisioned({ aws, concurrency }: HandlerDefinition): void {
  const provisioned = aws?.provisionedConcurrency;
  if (provisioned === undefined || provisioned <= concurrency) return;
  throw new SettingError('aws.provisionedConcurrency', `at most the concurrency of ${concurrency}`, provisioned);
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
