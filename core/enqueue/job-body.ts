import type { NewJob } from './enqueue-options.ts';

/**
 * Returns a job as the body of `POST /jobs`. The payload is inserted as given: a number that JavaScript parses and
 * writes again can lose digits.
 */
export function jobBody({ payload, ...job }: NewJob): string {
  const rest = JSON.stringify({
    ...{ job_type: job.jobType, run_at: job.runAt, delay: job.delay, start_by: job.startBy, priority: job.priority },
    ...{ max_attempts: job.maxAttempts, routing_key: job.routingKey || undefined },
    ...{ unique_key: job.uniqueKey, unique_by: job.uniqueBy, unique_for: job.uniqueFor, unique_until: job.uniqueUntil },
    ...{ on_conflict: job.onConflict, group_key: job.groupKey, on_dead_letter: job.onDeadLetter },
  });
  return `${rest.slice(0, -1)},"payload":${payload}}`;
}
