import { DURATION, type Duration, seconds } from '../duration.ts';
import { SettingError } from '../errors.ts';
import { ATTEMPTS_BOUNDS, checkTarget } from '../handler/check-definition.ts';
import type { EnqueueOptions, HandlerDefinition } from '../handler/definition.ts';
import type { HandlerAddress } from '../handler/naming.ts';
import { otherWord } from '../handler/other-words.ts';
import { whole } from '../handler/whole.ts';
import { isStorable } from '../text.ts';
import { isInYears } from '../time.ts';

/** A job in the form that the database's functions accept; the payload is JSON text, so that every digit is kept. */
export interface NewJob extends HandlerAddress, EnqueueOptions {
  readonly payload: string;
}

/** In place of a routing key: one job for each deployed handler of the job type. */
export const ALL_KEYS = '*';

/** A hundred years. */
const LONGEST_DELAY_SECONDS = 36_500 * 86_400;
/** A key that a mistake holds must end. */
const LONGEST_HOLD_SECONDS = 365 * 86_400;

/**
 * Validates the options of a job.
 * @throws SettingError that names the option, with `place` before it.
 */
export function checkOptions(options: EnqueueOptions, place: string): void {
  const { runAt, delay, priority, maxAttempts } = options;
  if (runAt !== undefined && delay !== undefined) {
    throw new SettingError(`${place}delay`, 'runAt or delay, not both', delay);
  }
  if (runAt !== undefined && !(runAt instanceof Date && isInYears(runAt))) {
    throw new SettingError(`${place}runAt`, 'a valid Date between the years 1 and 9999', runAt);
  }
  if (delay !== undefined && seconds(delay, `${place}delay`) > LONGEST_DELAY_SECONDS) {
    throw new SettingError(`${place}delay`, 'at most 36500d', delay);
  }
  checkStartBy(options, place);
  if (priority !== undefined) whole(`${place}priority`, priority, 0, 9);
  if (maxAttempts !== undefined) whole(`${place}maxAttempts`, maxAttempts, ...ATTEMPTS_BOUNDS);
  for (const key of ['uniqueKey', 'groupKey'] as const) checkKey(`${place}${key}`, options[key]);
  checkUnique(options, place);
  checkTarget(`${place}onDeadLetter`, options.onDeadLetter);
  if (options.traceparent !== undefined && typeof options.traceparent !== 'string') {
    throw new SettingError(`${place}traceparent`, 'text', options.traceparent);
  }
}

function checkStartBy({ runAt, startBy }: EnqueueOptions, place: string): void {
  if (startBy === undefined) return;
  const field = `${place}startBy`;
  if (!(startBy instanceof Date)) {
    if (!isDuration(startBy)) {
      throw new SettingError(field, 'a Date, or a duration such as 30s, 5m or 2h, or seconds as a number', startBy);
    }
    if (seconds(startBy, field) <= LONGEST_DELAY_SECONDS) return;
    throw new SettingError(field, 'a time, or at most 36500d', startBy);
  }
  if (!isInYears(startBy)) throw new SettingError(field, 'a valid Date between the years 1 and 9999', startBy);
  if (runAt !== undefined && startBy < runAt) throw new SettingError(field, 'a time that is not before runAt', startBy);
}

function isDuration(value: Duration): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0;
  return typeof value === 'string' && DURATION.test(value.trim());
}

function checkKey(field: string, key: unknown): void {
  if (key === undefined) return;
  // Postgres counts code points.
  const length = typeof key === 'string' && isStorable(key) ? [...key].length : 0;
  if (length < 1 || length > 500) throw new SettingError(field, '1 to 500 characters without NUL', key);
}

/** Returns whether a job can hold its key for this number of seconds. */
export function isHold(held: number): boolean {
  return held >= 0.001 && held <= LONGEST_HOLD_SECONDS;
}

function checkUnique(options: EnqueueOptions, place: string): void {
  const { uniqueKey, uniqueBy, uniqueFor, uniqueUntil, onConflict } = options;
  if (uniqueBy !== undefined && uniqueBy !== 'payload') {
    throw new SettingError(`${place}uniqueBy`, "'payload', or a uniqueKey instead", uniqueBy);
  }
  if (uniqueBy !== undefined && uniqueKey !== undefined) {
    throw new SettingError(`${place}uniqueBy`, 'uniqueKey or uniqueBy, not both', uniqueBy);
  }
  if (uniqueUntil !== undefined && !['dispatched', 'dead_letter', 'finished'].includes(uniqueUntil)) {
    throw new SettingError(`${place}uniqueUntil`, "'dispatched', 'dead_letter' or 'finished'", uniqueUntil);
  }
  if (onConflict !== undefined && onConflict !== 'skip' && onConflict !== 'replace') {
    throw new SettingError(`${place}onConflict`, "'skip' or 'replace'", onConflict);
  }
  const held = uniqueFor === undefined ? 1 : seconds(uniqueFor, `${place}uniqueFor`);
  if (!isHold(held)) {
    throw new SettingError(`${place}uniqueFor`, '1ms to 365d', uniqueFor);
  }
  if (uniqueKey !== undefined || uniqueBy !== undefined) return;
  for (const [name, value] of Object.entries({ uniqueFor, uniqueUntil, onConflict })) {
    if (value !== undefined) throw new SettingError(`${place}${name}`, 'a uniqueKey or uniqueBy with it', value);
  }
}

/** Rejects the arguments of `enqueue` in place of items, which JavaScript accepts. */
export function checkItems(items: unknown, name = 'items'): void {
  if (Array.isArray(items)) return;
  throw new SettingError(name, 'an array such as [{ handler, payload }]', items);
}

/** Rejects a job type in place of a definition, which JavaScript accepts. */
export function checkHandler(handler: unknown, place: string): void {
  const { jobType, routingKey, payload } = (handler ?? {}) as Partial<HandlerDefinition>;
  if (routingKey === ALL_KEYS) {
    throw new SettingError(`${place}handler`, 'the definition of one handler (for all of them: enqueueAll)', handler);
  }
  if (typeof jobType === 'string' && typeof payload?.['~standard']?.validate === 'function') return;
  throw new SettingError(
    `${place}handler`,
    'the definition that defineHandler returns (a job type alone has no schema: insert with SQL instead)',
    handler,
  );
}

const NAMES = [
  ...['runAt', 'delay', 'startBy', 'priority', 'maxAttempts', 'uniqueKey', 'uniqueBy', 'uniqueFor', 'uniqueUntil'],
  ...['onConflict', 'groupKey', 'onDeadLetter', 'traceparent'],
];

/** Rejects a mistyped option, which JavaScript would ignore without an error. */
export function checkNames(options: object, place: string): void {
  const unknown = Object.keys(options).find((name) => !NAMES.includes(name));
  if (unknown === undefined) return;
  const known =
    unknown === 'routingKey'
      ? "the handler's definition has the routing key, and enqueueAll enqueues for all deployed handlers of its job type"
      : `the options are ${NAMES.join(', ')}${otherWord(unknown, NAMES)}`;
  const message = `${place}${unknown}: unknown option; ${known}`;
  throw new SettingError(`${place}${unknown}`, 'a known option', unknown, message);
}

/** Returns the seconds from the run time to the latest start; undefined for a time. */
export function startWithin(startBy: EnqueueOptions['startBy']): number | undefined {
  return startBy === undefined || startBy instanceof Date ? undefined : seconds(startBy, 'startBy');
}

/** Inserts the payload's own text: a number that JavaScript parses and writes again can lose digits. */
export function recordText({ jobType, routingKey, payload, ...options }: NewJob): string {
  const record = {
    job_type: jobType,
    routing_key: routingKey,
    run_at: options.runAt,
    delay: options.delay === undefined ? undefined : seconds(options.delay, 'delay'),
    start_by: options.startBy instanceof Date ? options.startBy : undefined,
    start_within: startWithin(options.startBy),
    priority: options.priority,
    max_attempts: options.maxAttempts,
    unique_key: options.uniqueKey,
    unique_by: options.uniqueBy,
    unique_for: options.uniqueFor === undefined ? undefined : `${seconds(options.uniqueFor, 'uniqueFor')} seconds`,
    unique_until: options.uniqueUntil,
    on_conflict: options.onConflict,
    group_key: options.groupKey,
    traceparent: options.traceparent,
    on_dead_letter: options.onDeadLetter,
  };
  return `${JSON.stringify(record).slice(0, -1)},"payload":${payload}}`;
}
