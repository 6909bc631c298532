import { InvalidArgumentError } from 'commander';
import { GROUP, GROUP_EXPECTED } from '../../core/dead-letters/find-group.ts';
import { DURATION, type Duration, seconds } from '../../core/duration.ts';
import { ALL_KEYS } from '../../core/enqueue/enqueue-options.ts';
import { JOB_TYPE, keyedAddress } from '../../core/handler/naming.ts';
import { suggestStatus } from '../../core/handler/other-words.ts';
import { SCHEDULE_NAME } from '../../core/handler/schedule.ts';
import { isId, type JobStatus, STATUSES } from '../../core/job.ts';
import { isInYears } from '../../core/time.ts';

/** A longer duration is a mistake, and Postgres has no time before 4713 BC. */
const LONGEST_DAYS = 36_500;
const ISO = /^\d{4}-\d\d-\d\d(T([01]\d|2[0-3]):\d\d(:\d\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):?[0-5]\d))?$/;

/** @throws InvalidArgumentError, as every function here does, which ends the command with exit code 2. */
export function jobId(text: string): string {
  if (isId(text)) return text;
  throw new InvalidArgumentError('Expected the id of a job, a whole number such as 42.');
}

/** Returns a parser for the number of a row that is not a job; `expected` describes it, with an example. */
export function rowNumber(expected: string): (text: string) => string {
  return (text) => {
    if (/^[1-9]\d{0,17}$/.test(text)) return text;
    throw new InvalidArgumentError(`Expected ${expected}.`);
  };
}

export const strayNumber = rowNumber('the number of a stray, as npx millrace dlq list shows it');

export function jobIds(text: string, before: readonly string[] = []): string[] {
  return [...before, jobId(text)];
}

/** Accepts repeated options and commas. */
export function jobIdList(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').map((id) => jobId(id.trim()))];
}

export function jobType(text: string): string {
  const keyed = keyedAddress(text);
  if (keyed !== undefined) {
    throw new InvalidArgumentError(`Did you mean ${keyed.jobType} --routing-key ${keyed.routingKey}?`);
  }
  const name = jobName(text);
  if (JOB_TYPE.test(name)) return name;
  throw new InvalidArgumentError('Expected a job type without __, such as send_reminder.');
}

function jobName(text: string): string {
  if (/^[a-z][a-z0-9_]{0,59}$/.test(text)) return text;
  throw new InvalidArgumentError(
    'Expected lower-case letters, digits and _, starting with a letter, such as send_reminder.',
  );
}

/** Accepts repeated options and commas. */
export function statuses(text: string, before: readonly JobStatus[] = []): JobStatus[] {
  const found = text.split(',').map((name) => {
    const status = STATUSES.find((one) => one === name.trim());
    if (status === undefined) {
      throw new InvalidArgumentError(`Expected one of ${STATUSES.join(', ')}${suggestStatus(name.trim()) || '.'}`);
    }
    return status;
  });
  return [...before, ...found];
}

export function jobTypes(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').map((name) => jobType(name.trim()))];
}

export function duration(text: string): Duration {
  if (isDuration(text)) return text;
  throw new InvalidArgumentError(`Expected a duration such as 30s, 5m, 2h or 7d, at most ${LONGEST_DAYS}d.`);
}

function isDuration(text: string): boolean {
  return DURATION.test(text) && seconds(text, 'duration') <= LONGEST_DAYS * 86_400;
}

/** Accepts a duration above 0. */
export function lasting(text: string): Duration {
  if (isDuration(text) && seconds(text, 'duration') > 0) return text;
  throw new InvalidArgumentError(`Expected a duration above 0, such as 90d, at most ${LONGEST_DAYS}d.`);
}

export function time(text: string): Date {
  const date = new Date(text);
  if (ISO.test(text) && !Number.isNaN(date.getTime()) && isInYears(date) && isDay(text.slice(0, 10))) return date;
  throw new InvalidArgumentError('Expected a time with a time zone, such as 2030-01-31T12:00:00Z, or a date.');
}

/** Accepts a time or a duration. */
export function timeOrDuration(text: string): Date | Duration {
  if (isDuration(text)) return text;
  if (/^\d{4}-/.test(text)) return time(text);
  throw new InvalidArgumentError('Expected a time such as 2030-01-31T12:00:00Z, or a duration such as 10m.');
}

/** Rejects the 30th of February, which JavaScript reads as a day in March. */
function isDay(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
}

/** A time of day, which a person copies from a table; the tables show UTC. */
const CLOCK_TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?Z?$/;
const DAY_MS = 86_400_000;

/** Accepts a duration before now, a time, or a clock time, which is the last one at this time of day. */
export function pastTime(text: string): Date | Duration {
  if (isDuration(text)) return text;
  if (/^\d{4}-/.test(text)) return time(text);
  const [, hours, minutes, secs = '0'] = CLOCK_TIME.exec(text) ?? [];
  if (hours !== undefined) {
    const today = new Date().setUTCHours(Number(hours), Number(minutes), Number(secs), 0);
    return new Date(today > Date.now() ? today - DAY_MS : today);
  }
  throw new InvalidArgumentError(
    `Expected a duration such as 1h or 7d, at most ${LONGEST_DAYS}d, a time such as 2030-01-31T12:00:00Z, ` +
      'or a clock time (UTC) such as 18:10.',
  );
}

export function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

/** Accepts the routing key of the handler of a schedule. */
export function scheduledKey(text: string): string {
  if (text !== ALL_KEYS) return jobName(text);
  throw new InvalidArgumentError('A schedule has one handler: name its routing key instead of *.');
}

/** Accepts the routing key of one handler, or `*` for all of a job type. */
export function keyOrAll(text: string): string {
  return text === ALL_KEYS ? text : jobName(text);
}

/** Accepts a routing key, or empty text for handlers without one. */
export function routingKey(text: string): string {
  return text === '' ? text : jobName(text);
}

/** Accepts the beginning of a fingerprint. */
export function group(text: string): string {
  if (GROUP.test(text.toLowerCase())) return text.toLowerCase();
  throw new InvalidArgumentError(`Expected ${GROUP_EXPECTED}, as npx millrace dlq groups shows it, such as 7f3ac01b.`);
}

export function errorPart(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError("Expected part of the error text, such as 'connection refused'.");
}

/** Accepts jobs per second. */
export function rate(text: string): number {
  const value = Number(/^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(text)?.[1]);
  if (value >= 0.000_01 && value <= 10_000) return value;
  throw new InvalidArgumentError('Expected jobs per second, 0.00001 to 10000, such as 50/s or 0.5/s.');
}

export function key(text: string): string {
  const length = [...text].length;
  if (length >= 1 && length <= 500) return text;
  throw new InvalidArgumentError('Expected 1 to 500 characters.');
}

export function reason(text: string): string {
  if (text.trim() !== '' && [...text].length <= 500) return text;
  throw new InvalidArgumentError('Expected a reason of 1 to 500 characters.');
}

export function scheduleName(text: string): string {
  if (SCHEDULE_NAME.test(text)) return text;
  throw new InvalidArgumentError('Expected the name of a schedule, such as nightly-report.');
}

export function scheduleNames(text: string, before: readonly string[] = []): string[] {
  return [...before, scheduleName(text)];
}
