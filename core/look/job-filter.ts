import type { Duration } from '../duration.ts';
import type { JobStatus } from '../job.ts';
import type { Queryable } from '../postgres/database.ts';
import { pinTime } from '../postgres/pin-time.ts';

/** A value that a payload must have, compared as text: `customer.id=42` matches 42 and "42". */
export interface PayloadCondition {
  readonly path: readonly string[];
  readonly value: string;
}

/**
 * Selects jobs that match every given field, for lists and operations. A list matches any of its entries, and an empty
 * list matches all; a payload must meet all conditions.
 */
export interface JobFilter {
  readonly statuses: readonly JobStatus[];
  readonly jobTypes: readonly string[];
  readonly routingKey?: string | undefined;
  readonly uniqueKey?: string | undefined;
  readonly groupKey?: string | undefined;
  /** Part of the error's text, ignoring case. */
  readonly error?: string | undefined;
  /** First characters of the fingerprint of the last error. */
  readonly group?: string | undefined;
  /** Both bounds are included. A bound is a time, or a duration before now by the database's clock. */
  readonly createdFrom?: Date | Duration | undefined;
  readonly createdTo?: Date | Duration | undefined;
  /** Both bounds of the number of attempts are included. */
  readonly attemptsFrom?: number | undefined;
  readonly attemptsTo?: number | undefined;
  readonly payload?: readonly PayloadCondition[] | undefined;
}

/** A filter with fixed times. */
export interface PinnedJobFilter extends JobFilter {
  readonly createdFrom?: Date | undefined;
  readonly createdTo?: Date | undefined;
}

/** Returns the filter with times instead of durations. */
export async function pinJobTimes(db: Queryable, filter: JobFilter): Promise<PinnedJobFilter> {
  const createdFrom = await pinTime(db, filter.createdFrom);
  return { ...filter, createdFrom, createdTo: await pinTime(db, filter.createdTo) };
}

/** Returns the filter as the JSON that `millrace.job_matches` and `millrace.start_operation` accept. */
export function jobFilterJson(filter: PinnedJobFilter, more: { all?: true; limit?: number | undefined } = {}): string {
  const { statuses, jobTypes, routingKey, uniqueKey, groupKey, error, group, payload } = filter;
  const some = <Value>(list: readonly Value[] | undefined) => (list?.length ? list : undefined);
  return JSON.stringify({
    ...{ statuses: some(statuses), job_types: some(jobTypes), routing_key: routingKey, unique_key: uniqueKey },
    ...{ group_key: groupKey, error, group, created_from: filter.createdFrom, created_to: filter.createdTo },
    ...{ attempts_from: filter.attemptsFrom, attempts_to: filter.attemptsTo, payload: some(payload) },
    ...more,
  });
}

/** Returns whether the filter selects every job. */
export function isEveryJob(filter: JobFilter): boolean {
  return Object.values(filter).every((part) => part === undefined || (Array.isArray(part) && part.length === 0));
}

/** Conditions of one filter, and characters of one condition. */
export const MOST_CONDITIONS = 10;
const LONGEST_CONDITION = 1000;
const DEEPEST = 50;
export const CONDITION_EXPECTED = `a condition such as customer.id=42, of at most ${LONGEST_CONDITION} characters`;

/** Reads `path=value`, such as `items.0.sku=A1`; undefined if the text has no path, or is too long. */
export function readCondition(text: string): PayloadCondition | undefined {
  const [, names, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  const path = names?.split('.') ?? [];
  if (value === undefined || text.length > LONGEST_CONDITION || path.length > DEEPEST || path.includes('')) return;
  return { path, value };
}

/** Returns the condition as `readCondition` reads it. */
export function conditionText({ path, value }: PayloadCondition): string {
  return `${path.join('.')}=${value}`;
}
