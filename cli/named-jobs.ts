import type { NamedJob } from '../core/jobs/dead-letters-preview.ts';
import { handlerName } from '../core/naming.ts';
import { EXIT, type ExitCode, exitCodeOf } from './exit-code.ts';
import { sayError } from './terminal.ts';

/** Why a job that somebody named is not moved, as the end of a sentence that begins with it. */
export function standing({ status, jobType, routingKey, handled }: NamedJob): string {
  if (status === null) return 'does not exist';
  if (status === 'succeeded' || status === 'skipped' || status === 'cancelled') return `already ${status}`;
  if (status !== 'dead_letter') return `is not dead but ${status}`;
  if (handled) return 'is dead, and the rest of the filter leaves it out';
  return `has no handler: deploy ${handlerName({ jobType: jobType ?? '', routingKey: routingKey ?? '' })}`;
}

/** Jobs that were named and not moved, each with its reason, for `--json`. */
export function skippedDocument(jobs: readonly NamedJob[]): Record<string, unknown>[] {
  return jobs.map((job) => ({ id: job.id, status: job.status, reason: standing(job) }));
}

/** Says why each of them was not moved; answers the code for it, which is that of failures when others were moved. */
export function reportSkipped(jobs: readonly NamedJob[], moved: number): ExitCode {
  for (const job of jobs) sayError(`job ${job.id} ${standing(job)}`);
  const codes = jobs.map(({ status }) => (status === null ? EXIT.notFound : EXIT.conflict));
  return exitCodeOf(moved > 0 ? [EXIT.done, ...codes] : codes);
}
