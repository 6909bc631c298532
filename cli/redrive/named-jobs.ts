import type { ListedDeadLetter } from '../../core/dead-letters/list-dead-letters.ts';
import type { NamedJob } from '../../core/dead-letters/preview-redrive.ts';
import { handlerName } from '../../core/handler/naming.ts';
import type { Backend } from '../backend/backend.ts';
import { CommandFailure, EXIT, type ExitCode } from '../command-failure.ts';
import { sayError } from '../screen/terminal.ts';

/** A job that somebody named, with what explains why it is not moved. */
export interface ExplainedJob extends NamedJob {
  /** There is no such job, and a stray has the number. */
  readonly isStray: boolean;
  /** By whom it was cancelled or discarded, and when. */
  readonly cancelled: string | undefined;
}

/** The jobs of these ids, in their order. */
export async function explainJobs(backend: Backend, ids: readonly string[]): Promise<ExplainedJob[]> {
  const explained: ExplainedJob[] = [];
  for (const job of await backend.readNamedJobs(ids)) {
    const isStray = job.status === null && (await isStrayNumber(backend, job.id));
    explained.push({
      ...job,
      isStray,
      cancelled: job.status === 'cancelled' ? await tellEnd(backend, job.id) : undefined,
    });
  }
  return explained;
}

/** What is to be said of jobs beyond that they do not exist or are not dead, by their ids. */
export async function explainFailures(backend: Backend, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const known = (await explainJobs(backend, ids)).filter(
    ({ isStray, cancelled }) => isStray || cancelled !== undefined,
  );
  return new Map(known.map((job) => [job.id, standing(job)]));
}

/** Whoever may not look at dead letters is told of none. */
async function isStrayNumber(backend: Backend, id: string): Promise<boolean> {
  try {
    return (await backend.showDeadLetter({ strayId: id })) !== undefined;
  } catch (error) {
    if (error instanceof CommandFailure && error.exitCode === EXIT.refused) return false;
    throw error;
  }
}

async function tellEnd(backend: Backend, id: string): Promise<string | undefined> {
  const { lastError, finishedAt } = (await backend.showJob(id))?.job ?? {};
  return finishedAt ? `${lastError ?? 'cancelled'} at ${finishedAt.toISOString()}` : undefined;
}

/** Why a job that somebody named is not moved, as the end of a sentence that begins with it. */
export function standing(job: ExplainedJob): string {
  const { status, jobType, routingKey, handled, isStray, cancelled } = job;
  if (isStray) return `does not exist; ${job.id} is a stray: npx millrace dlq show --stray ${job.id}`;
  if (status === null) return 'does not exist';
  if (cancelled !== undefined) return `already cancelled: ${cancelled}`;
  if (status === 'succeeded' || status === 'skipped' || status === 'cancelled') return `already ${status}`;
  if (status !== 'dead_letter') return `is not dead but ${status}`;
  if (handled) return 'is dead, and the rest of the filter leaves it out';
  return `has no handler: deploy ${handlerName({ jobType: jobType ?? '', routingKey: routingKey ?? '' })}`;
}

/** Jobs that were named and not moved, each with its reason, for `--json`. */
export function skippedDocument(jobs: readonly ExplainedJob[]): Record<string, unknown>[] {
  return jobs.map((job) => ({ id: job.id, status: job.status, reason: standing(job) }));
}

/** Says why each of them was not moved; answers the code for it: failed when others were moved, else what they are. */
export function reportSkipped(jobs: readonly ExplainedJob[], moved: number): ExitCode {
  for (const job of jobs) sayError(`job ${job.id} ${standing(job)}`);
  if (jobs.length === 0) return EXIT.done;
  if (moved > 0) return EXIT.failed;
  return jobs.every(({ status }) => status === null) ? EXIT.notFound : EXIT.conflict;
}

/** How a dead letter's handler is called; `-` where none is known. */
export function jobOf({ jobType, routingKey }: Pick<ListedDeadLetter, 'jobType' | 'routingKey'>): string {
  return jobType === null ? '-' : handlerName({ jobType, routingKey: routingKey ?? '' });
}
