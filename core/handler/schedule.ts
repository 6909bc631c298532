import type { Duration } from '../duration.ts';
import { PayloadInvalid, SettingError } from '../errors.ts';
import { printedBytes } from '../json-text.ts';
import { isStorable } from '../text.ts';
import { openTimetable } from './cron.ts';
import type { HandlerAddress } from './naming.ts';
import { payloadJson } from './payload.ts';
import { checkKeys } from './policy-fields.ts';
import { whole, wholeSeconds } from './whole.ts';

/** What happens to ticks that no dispatcher made in time: `all(10)` makes the last ten. */
export type CatchUp = 'none' | 'latest' | `all(${number})`;

/** What a tick does while a job of an earlier tick is unfinished. */
export type Overlap = 'allow' | 'skip' | 'queue-one';

/** When a schedule enqueues a job, and which. */
export interface ScheduleOptions<Payload = unknown> {
  /** Five fields: minute, hour, day of the month, month, day of the week. Either `cron` or `every`. */
  cron?: string;
  /** An interval of whole seconds, 10 s to 365 days. Ticks are its multiples since 1970-01-01 00:00 UTC. */
  every?: Duration;
  /** The IANA time zone of `cron`. Default UTC. */
  zone?: string;
  /** Default an empty object. */
  payload?: Payload;
  /** The member of the payload that gets the time of the tick, such as `2027-01-31T02:00:00Z`. */
  tickKey?: string;
  /** Default `latest`. */
  catchUp?: CatchUp;
  /** Default `allow`. */
  overlap?: Overlap;
  /** The window after a tick in which its job runs, at a place that depends on the name. Default 0, at most 1 day. */
  spread?: Duration;
  /** How long after its run time a job may start: later, it becomes `skipped`. Whole seconds, 1 s to 365 days. */
  startBy?: Duration;
  /** Priority from 0 to 9; lower numbers run first. Default 5. */
  priority?: number;
  /** Largest number of attempts. Default: that of the deployed handler. */
  maxAttempts?: number;
  /** While a job of this handler with the key is unfinished, a tick enqueues nothing. */
  uniqueKey?: string;
  groupKey?: string;
}

/** A checked schedule, as the database stores it. */
export interface ScheduleSpec extends HandlerAddress {
  /** The name of the schedule. */
  readonly schedule: string;
  readonly cron: string | null;
  readonly everySeconds: number | null;
  readonly zone: string;
  /** JSON text. */
  readonly payload: string;
  readonly tickKey: string | null;
  readonly catchUp: CatchUp;
  readonly overlap: Overlap;
  readonly spreadSeconds: number;
  readonly startBySeconds: number | null;
  readonly priority: number;
  readonly maxAttempts: number | null;
  readonly uniqueKey: string | null;
  readonly groupKey: string | null;
}

export const SCHEDULE_NAME = /^[a-z][a-z0-9_-]{0,99}$/;
export const CATCH_UP = /^(?:none|latest|all\((?:[1-9]\d?|100)\))$/;
const OVERLAP = /^(?:allow|skip|queue-one)$/;
const KEYS = [
  ...['cron', 'every', 'zone', 'payload', 'tickKey', 'catchUp', 'overlap', 'spread', 'startBy', 'priority'],
  ...['maxAttempts', 'uniqueKey', 'groupKey'],
];
const SHORTEST_SECONDS = 10;
const LONGEST_SECONDS = 365 * 86_400;
const LONGEST_SPREAD_SECONDS = 86_400;
/** The limit of jobs, less 1 KiB for the tick. */
const LARGEST_PAYLOAD_BYTES = 1_047_552;

/**
 * Checks a schedule, so that nothing passes that the database or the dispatcher refuses later.
 * @param place what precedes the name of an option in an error.
 * @throws SettingError that names the option.
 */
export function readSchedule(
  schedule: string,
  address: HandlerAddress,
  options: ScheduleOptions,
  place = '',
): ScheduleSpec {
  try {
    return specOf(schedule, address, options);
  } catch (error) {
    throw error instanceof SettingError ? placed(error, place) : error;
  }
}

/** Without a value of its own, an error of all options or of an unknown one follows the name of the schedule. */
function placed(error: SettingError, place: string): SettingError {
  if (place !== '' && error.field === 'options') {
    const schedule = place.replace(/\.$/, '');
    return new SettingError(schedule, '', '', error.message.replace('options', schedule));
  }
  if (place === '' || !error.message.startsWith('unknown option')) return error.at(place);
  return new SettingError(`${place}${error.field}`, '', '', `${place.replace(/\.$/, '')}: ${error.message}`);
}

function specOf(schedule: string, { jobType, routingKey }: HandlerAddress, options: ScheduleOptions): ScheduleSpec {
  if (!SCHEDULE_NAME.test(schedule)) {
    throw new SettingError('name', 'up to 100 lower-case letters, digits, - and _, a letter first', schedule);
  }
  checkKeys('options', options, KEYS);
  const { startBy, priority, maxAttempts, uniqueKey, groupKey } = options;
  return {
    ...{ schedule, jobType, routingKey, ...readTimes(options), ...readPayload(options) },
    catchUp: choice('catchUp', options.catchUp ?? 'latest', CATCH_UP, 'none, latest, or all(1) to all(100)'),
    overlap: choice('overlap', options.overlap ?? 'allow', OVERLAP, 'allow, skip or queue-one'),
    spreadSeconds: wholeSeconds('spread', options.spread ?? 0, [0, LONGEST_SPREAD_SECONDS]),
    startBySeconds: startBy === undefined ? null : wholeSeconds('startBy', startBy, [1, LONGEST_SECONDS]),
    priority: whole('priority', priority ?? 5, 0, 9),
    maxAttempts: maxAttempts === undefined ? null : whole('maxAttempts', maxAttempts, 1, 1000),
    uniqueKey: uniqueKey === undefined ? null : text('uniqueKey', uniqueKey, 500),
    groupKey: groupKey === undefined ? null : text('groupKey', groupKey, 500),
  };
}

/** Checks a schedule whose payload is JSON text, of which every digit is kept. */
export function readScheduleText(
  schedule: string,
  address: HandlerAddress,
  options: Omit<ScheduleOptions, 'payload'>,
  payload: string,
): ScheduleSpec {
  const { tickKey } = options;
  const spec = specOf(schedule, address, options);
  return { ...spec, ...checkPayload(payload, tickKey) };
}

function readTimes({ cron, every, zone }: ScheduleOptions) {
  if ((cron === undefined) === (every === undefined)) throw new SettingError('cron', 'either cron or every', cron);
  if (every !== undefined && zone !== undefined) throw new SettingError('zone', 'cron: every has no zone', zone);
  const everySeconds = every === undefined ? null : wholeSeconds('every', every, [SHORTEST_SECONDS, LONGEST_SECONDS]);
  const times = { cron: cron ?? null, everySeconds, zone: zone ?? 'UTC' };
  openTimetable(times);
  return times;
}

function readPayload({ payload = {}, tickKey }: ScheduleOptions) {
  const json = jsonOf(payload);
  if (json instanceof PayloadInvalid) throw new SettingError('payload', '', '', json.message);
  return checkPayload(json, tickKey);
}

function checkPayload(json: string, tickKey: string | undefined) {
  if (printedBytes(json) > LARGEST_PAYLOAD_BYTES) {
    throw new SettingError('payload', `at most ${LARGEST_PAYLOAD_BYTES} bytes`, `${printedBytes(json)} bytes`);
  }
  if (tickKey === undefined) return { payload: json, tickKey: null };
  if (!json.trimStart().startsWith('{')) throw new SettingError('tickKey', 'a payload that is an object', tickKey);
  return { payload: json, tickKey: text('tickKey', tickKey, 100) };
}

function jsonOf(payload: unknown): string | PayloadInvalid {
  try {
    return payloadJson(payload);
  } catch (error) {
    if (error instanceof PayloadInvalid) return error;
    throw error;
  }
}

function choice<Choice extends string>(field: string, value: Choice, pattern: RegExp, expected: string): Choice {
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw new SettingError(field, expected, value);
}

function text(field: string, value: string, most: number): string {
  // Postgres counts code points.
  const length = typeof value === 'string' && isStorable(value) ? [...value].length : 0;
  if (length >= 1 && length <= most) return value;
  throw new SettingError(field, `1 to ${most} characters without NUL`, value);
}

/** A time as the payloads of jobs contain it. */
export const EXAMPLE_TICK = '2027-01-31T02:00:00Z';

/** Returns the payload of the job of a tick, as millrace.tick_payload does. */
export function tickPayload(payload: string, tickKey: string | null, tick: string): string {
  return tickKey === null ? payload : JSON.stringify({ ...JSON.parse(payload), [tickKey]: tick });
}
