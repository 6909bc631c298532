import type { Job } from '../core/job.ts';
import type { CancelAnswer } from '../core/jobs/cancel.ts';
import type { NamedJob } from '../core/jobs/dead-letters-preview.ts';
import type { ShownDeadLetter } from '../core/jobs/dead-letters-show.ts';
import type { DeleteAnswer } from '../core/jobs/delete-job.ts';
import type { Enqueued, NewJob } from '../core/jobs/enqueue.ts';
import type { ListedJob, ListFilter } from '../core/jobs/list.ts';
import type { HandlerNumbers } from '../core/jobs/read-metrics.ts';
import type { RedriveOperation } from '../core/jobs/redrive-operation.ts';
import type { RetryAnswer } from '../core/jobs/retry.ts';
import type { ShownAttempt } from '../core/jobs/show.ts';
import type { Stats } from '../core/jobs/stats.ts';

/** A job with all that whoever asks may see of it. */
export interface SeenJob {
  /** `payload` is JSON text, digit for digit; undefined when it may not be seen. */
  readonly job: Job & { readonly payload: string | undefined; readonly result: string | null };
  /** Newest first. */
  readonly attempts: readonly ShownAttempt[];
  readonly waiting: string | null;
}

/** A dead letter with all that whoever asks may see of it: `payload` and `rawBody` are undefined when they may not. */
export type SeenDeadLetter = Omit<ShownDeadLetter, 'payload' | 'rawBody'> & {
  readonly payload: string | null | undefined;
  readonly rawBody: string | null | undefined;
};

/** How everything stands. */
export interface Overview {
  readonly stats: Stats;
  readonly handlers: readonly HandlerNumbers[];
  readonly redrives: readonly RedriveOperation[];
}

/** What the commands ask for, whichever way leads to it. */
export interface Engine {
  readOverview(): Promise<Overview>;

  listJobs(filter: ListFilter): Promise<readonly ListedJob[]>;
  showJob(id: string): Promise<SeenJob | undefined>;
  /** How these jobs stand, in their order. */
  readNamedJobs(ids: readonly string[]): Promise<readonly NamedJob[]>;
  enqueue(job: NewJob): Promise<Enqueued>;
  /** Whether a handler for a job is deployed; undefined when whoever asks may not know. */
  isHandled(id: string): Promise<boolean | undefined>;
  retry(id: string): Promise<RetryAnswer>;
  cancel(id: string): Promise<CancelAnswer>;
  deleteJob(id: string): Promise<DeleteAnswer>;

  showDeadLetter(wanted: { jobId: string } | { strayId: string }): Promise<SeenDeadLetter | undefined>;
}
