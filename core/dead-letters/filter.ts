import { type Duration, seconds } from '../duration.ts';

/** Selects open dead letters that match every given part. */
export interface DeadLetterFilter {
  /** Matches any of these job types. */
  readonly jobTypes?: readonly string[] | undefined;
  readonly routingKey?: string | undefined;
  /** Matches any of these job ids. */
  readonly jobIds?: readonly string[] | undefined;
  /** Earliest time of death: a time, or a duration before now. */
  readonly since?: Date | Duration | undefined;
  /** Latest time of death. */
  readonly until?: Date | Duration | undefined;
  /** Part of the error's text, ignoring case. */
  readonly error?: string | undefined;
  /** First characters of a fingerprint, which identifies one kind of error. */
  readonly group?: string | undefined;
}

/**
 * Returns the filter as the JSON that `millrace.matching_dead_letters` and related functions accept.
 * @param now the database's time, from which a duration is subtracted.
 */
export function filterJson(filter: DeadLetterFilter, now: Date, limit?: number): string {
  const { jobTypes, routingKey, jobIds, since, until, error, group } = filter;
  const at = (time: Date | Duration | undefined) =>
    time === undefined || time instanceof Date ? time : ago(now, time);
  const parts = {
    ...{ job_types: jobTypes?.length ? jobTypes : undefined, job_ids: jobIds?.length ? jobIds : undefined },
    ...{ routing_key: routingKey, since: at(since), until: at(until), error, group },
  };
  const all = Object.values(parts).every((part) => part === undefined) || undefined;
  return JSON.stringify({ ...parts, limit, all });
}

function ago(now: Date, duration: Duration): Date {
  return new Date(now.getTime() - seconds(duration, 'duration') * 1000);
}
