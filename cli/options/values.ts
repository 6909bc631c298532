import { InvalidArgumentError } from 'commander';
import { type Duration, seconds } from '../../core/duration.ts';
import { type JobStatus, LARGEST_ID, LIVE_STATUSES } from '../../core/job.ts';

export const STATUSES: readonly JobStatus[] = [...LIVE_STATUSES, ...(['succeeded', 'skipped', 'cancelled'] as const)];
const DURATION = /^\d+(\.\d+)?(ms|s|m|h|d)$/;
/** Nothing is meant to be further away, and the database knows no time before 4713 BC. */
const LONGEST_DAYS = 36_500;
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/;

/** @throws InvalidArgumentError, as all of these, which ends the command with exit code 2. */
export function jobId(text: string): string {
  if (/^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= LARGEST_ID) return text;
  throw new InvalidArgumentError('Expected the id of a job, a whole number such as 42.');
}

/** The number of a row that is no job's; `expected` says what it is, and gives an example. */
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

/** Repeatable, and separated by commas. */
export function jobIdList(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').map((id) => jobId(id.trim()))];
}

export function jobName(text: string): string {
  if (/^[a-z][a-z0-9_]{0,59}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected lower-case letters, digits and _, a letter first, such as send_reminder.');
}

/** Repeatable, and separated by commas. */
export function statuses(text: string, before: readonly JobStatus[] = []): JobStatus[] {
  const found = text.split(',').map((name) => {
    const status = STATUSES.find((one) => one === name.trim());
    if (status === undefined) throw new InvalidArgumentError(`Expected one of ${STATUSES.join(', ')}.`);
    return status;
  });
  return [...before, ...found];
}

export function jobTypes(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').map((name) => jobName(name.trim()))];
}

export function duration(text: string): Duration {
  if (isDuration(text)) return text;
  throw new InvalidArgumentError(`Expected a duration such as 30s, 5m, 2h or 7d, at most ${LONGEST_DAYS}d.`);
}

function isDuration(text: string): boolean {
  return DURATION.test(text) && seconds(text, 'duration') <= LONGEST_DAYS * 86_400;
}

/** One that is longer than nothing. */
export function lasting(text: string): Duration {
  if (isDuration(text) && seconds(text, 'duration') > 0) return text;
  throw new InvalidArgumentError(`Expected a duration above 0, such as 90d, at most ${LONGEST_DAYS}d.`);
}

export function time(text: string): Date {
  const date = new Date(text);
  if (ISO.test(text) && !Number.isNaN(date.getTime()) && isDay(text.slice(0, 10))) return date;
  throw new InvalidArgumentError('Expected a time with its zone, such as 2030-01-31T12:00:00Z, or a day.');
}

/** JavaScript takes the 30th of February for a day in March. */
function isDay(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
}

export function timeOrDuration(text: string): Date | Duration {
  if (isDuration(text)) return text;
  if (/^\d{4}-/.test(text)) return time(text);
  throw new InvalidArgumentError(
    `Expected how long ago, such as 1h or 7d and at most ${LONGEST_DAYS}d, or a time such as 2030-01-31T12:00:00Z.`,
  );
}

export function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

/** Empty for handlers without one. */
export function routingKey(text: string): string {
  return text === '' ? text : jobName(text);
}

/** The beginning of a fingerprint. */
export function group(text: string): string {
  if (/^[0-9a-f]{4,64}$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('Expected a group as npx millrace dlq groups shows it, such as 7f3ac01b.');
}

export function errorPart(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError("Expected a part of the error's text, such as 'connection refused'.");
}

/** Jobs a second. */
export function rate(text: string): number {
  const value = Number(/^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(text)?.[1]);
  if (value > 0 && value <= 10_000) return value;
  throw new InvalidArgumentError('Expected jobs a second, above 0 and at most 10000, such as 50/s or 0.5/s.');
}

export function key(text: string): string {
  const length = [...text].length;
  if (length >= 1 && length <= 500) return text;
  throw new InvalidArgumentError('Expected 1 to 500 characters.');
}
