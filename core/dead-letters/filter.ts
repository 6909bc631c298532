import { type Duration, seconds } from '../duration.ts';

/** Which open dead letters are meant: all that match every part given. */
export interface DeadLetterFilter {
  /** Any of these. */
  readonly jobTypes?: readonly string[] | undefined;
  readonly routingKey?: string | undefined;
  /** Any of these jobs. */
  readonly jobIds?: readonly string[] | undefined;
  /** Died at or after this time, or so long ago. */
  readonly since?: Date | Duration | undefined;
  /** A part of the error's text, whatever the case. */
  readonly error?: string | undefined;
  /** The beginning of a fingerprint: one kind of error. */
  readonly group?: string | undefined;
}

/**
 * The filter as `millrace.matching_dead_letters` and its like read it.
 * @param now the database's time, from which a duration counts.
 */
export function filterJson(filter: DeadLetterFilter, now: Date, limit?: number): string {
  const { jobTypes, routingKey, jobIds, since, error, group } = filter;
  const from = since === undefined || since instanceof Date ? since : ago(now, since);
  const parts = {
    ...{ job_types: jobTypes?.length ? jobTypes : undefined, job_ids: jobIds?.length ? jobIds : undefined },
    ...{ routing_key: routingKey, since: from, error, group },
  };
  const all = Object.values(parts).every((part) => part === undefined) || undefined;
  return JSON.stringify({ ...parts, limit, all });
}

function ago(now: Date, since: Duration): Date {
  return new Date(now.getTime() - seconds(since, 'since') * 1000);
}
