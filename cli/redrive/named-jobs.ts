import type { ListedDeadLetter } from '../../core/dead-letters/list-dead-letters.ts';
import type { NamedJob } from '../../core/dead-letters/preview-redrive.ts';
import { handlerName } from '../../core/handler/naming.ts';
import { isRefused } from '../backend/after-change.ts';
import type { Backend } from '../backend/backend.ts';
import { EXIT, type ExitCode } from '../command-failure.ts';
import { printError } from '../screen/terminal.ts';

/** A named job, with what explains why it is not moved. */
export interface ExplainedJob extends NamedJob {
  /** The job does not exist, and a stray has the number. */
  readonly isStray: boolean;
  /** Who cancelled or discarded it, and when. */
  readonly cancelled: string | undefined;
}

/** Returns the jobs with these ids, in their order. */
export async function explainJobs(backend: Backend, ids: readonly string[]): Promise<ExplainedJob[]> {
  const explained: ExplainedJob[] = [];
  for (const job of await backend.readNamedJobs(ids)) {
    const isStray = job.status === null && (await isStrayNumber(backend, job.id));
    explained.push({
      ...job,
      isStray,
      cancelled: job.status === 'cancelled' ? await describeEnd(backend, job.id) : undefined,
    });
  }
  return explained;
}

/** Returns reasons by job id, for strays and cancelled jobs: an answer alone does not explain these. */
export async function explainFailures(backend: Backend, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const known = (await explainJobs(backend, ids)).filter(
    ({ isStray, cancelled }) => isStray || cancelled !== undefined,
  );
  return new Map(known.map((job) => [job.id, standing(job)]));
}

/** Returns false when the caller may not read dead letters. */
async function isStrayNumber(backend: Backend, id: string): Promise<boolean> {
  try {
    return (await backend.showDeadLetter({ strayId: id })) !== undefined;
  } catch (error) {
    if (isRefused(error)) return false;
    throw error;
  }
}

async function describeEnd(backend: Backend, id: string): Promise<string | undefined> {
  const { lastError, finishedAt } = (await backend.showJob(id))?.job ?? {};
  return finishedAt ? `${lastError ?? 'cancelled'} at ${finishedAt.toISOString()}` : undefined;
}

/** Returns why a named job is not moved, as the predicate of a sentence about the job. */
export function standing(job: ExplainedJob): string {
  const { status, jobType, routingKey, handled, isStray, cancelled } = job;
  if (isStray) return `does not exist; ${job.id} is a stray: npx millrace dlq show --stray ${job.id}`;
  if (status === null) return 'does not exist';
  if (cancelled !== undefined) return `is already cancelled: ${cancelled}`;
  if (status === 'succeeded') return 'has already succeeded';
  if (status === 'skipped' || status === 'cancelled') return `is already ${status}`;
  if (status !== 'dead_letter') return `is ${status}, not dead`;
  if (handled) return 'is dead, but does not match the rest of the filter';
  return `has no handler: deploy ${handlerName({ jobType: jobType ?? '', routingKey: routingKey ?? '' })}`;
}

/** Returns the named jobs that were not moved, each with its reason, for `--json`. */
export function skippedDocument(jobs: readonly ExplainedJob[]): Record<string, unknown>[] {
  return jobs.map((job) => ({ id: job.id, status: job.status, reason: standing(job) }));
}

/** Reports why each job was not moved. Returns `failed` when others were moved, else the code for these jobs. */
export function reportSkipped(jobs: readonly ExplainedJob[], moved: number): ExitCode {
  for (const job of jobs) printError(`job ${job.id} ${standing(job)}`);
  if (jobs.length === 0) return EXIT.done;
  if (moved > 0) return EXIT.failed;
  return jobs.every(({ status }) => status === null) ? EXIT.notFound : EXIT.conflict;
}

/** Returns the name of a dead letter's handler; `-` when it is unknown. */
export function jobOf({ jobType, routingKey }: Pick<ListedDeadLetter, 'jobType' | 'routingKey'>): string {
  return jobType === null ? '-' : handlerName({ jobType, routingKey: routingKey ?? '' });
}
