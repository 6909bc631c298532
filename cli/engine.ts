import type { Job } from '../core/job.ts';
import type { ApiKey, NewApiKey } from '../core/jobs/api-keys.ts';
import type { CancelAnswer } from '../core/jobs/cancel.ts';
import type { DeadLetterFilter } from '../core/jobs/dead-letter-filter.ts';
import type { DeadLetterGroup, ShownGroup } from '../core/jobs/dead-letters-groups.ts';
import type { ListedDeadLetter, PinnedFilter } from '../core/jobs/dead-letters-list.ts';
import type { NamedJob, PreviewedHandler } from '../core/jobs/dead-letters-preview.ts';
import type { ShownDeadLetter } from '../core/jobs/dead-letters-show.ts';
import type { DeleteAnswer } from '../core/jobs/delete-job.ts';
import type { Discarded } from '../core/jobs/discard.ts';
import type { Enqueued, NewJob } from '../core/jobs/enqueue.ts';
import type { RegisteredHandler } from '../core/jobs/handlers-list.ts';
import type { ListedJob, ListFilter } from '../core/jobs/list.ts';
import type { HandlerNumbers } from '../core/jobs/read-metrics.ts';
import type { RedriveOperation } from '../core/jobs/redrive-operation.ts';
import type { RetryAnswer } from '../core/jobs/retry.ts';
import type { ShownAttempt } from '../core/jobs/show.ts';
import type { Stats } from '../core/jobs/stats.ts';
import type { HandlerAddress } from '../core/naming.ts';
import type { Deployment } from './deployment.ts';
import type { Finding } from './finding.ts';

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

  listHandlers(only?: HandlerAddress): Promise<readonly RegisteredHandler[]>;
  pauseHandler(address: HandlerAddress): Promise<void>;
  resumeHandler(address: HandlerAddress): Promise<void>;

  /** The same filter with a time in place of a duration. */
  pinSince(filter: DeadLetterFilter): Promise<PinnedFilter>;
  listDeadLetters(filter: PinnedFilter, limit: number): Promise<readonly ListedDeadLetter[]>;
  showDeadLetter(wanted: { jobId: string } | { strayId: string }): Promise<SeenDeadLetter | undefined>;
  /** All that match, the oldest first. */
  exportDeadLetters(filter: PinnedFilter): AsyncIterable<SeenDeadLetter>;
  groupDeadLetters(filter: PinnedFilter, limit: number): Promise<readonly DeadLetterGroup[]>;
  showGroup(fingerprint: string): Promise<ShownGroup | undefined>;
  /** Fingerprints that begin so, two at most. */
  findGroups(beginning: string): Promise<readonly string[]>;

  /** How many match, and the newest of them. */
  countDeadLetters(filter: PinnedFilter): Promise<{ readonly count: number; readonly untilId: string }>;
  /** Step by step, up to the newest that was counted. */
  discardDeadLetters(filter: PinnedFilter, untilId: string): AsyncIterable<Discarded>;
  /** False when there is none that is open. */
  discardStray(id: string): Promise<boolean>;

  listRedrives(wish: { limit: number; status?: 'running' }): Promise<readonly RedriveOperation[]>;
  readRedrive(id: string): Promise<RedriveOperation | undefined>;
  previewRedrive(filter: PinnedFilter): Promise<readonly PreviewedHandler[]>;
  /** Answers its id. */
  startRedrive(filter: PinnedFilter, options: { rate: number | null; limit: number | undefined }): Promise<string>;
  /** Moves some of its jobs; undefined where the dispatcher alone does that. */
  readonly stepRedrive: ((id: string) => Promise<RedriveOperation | undefined>) | undefined;
  /** False when it was not running. */
  cancelRedrive(id: string): Promise<boolean>;
  /** Which of these jobs it put back to work. */
  findMoved(id: string, ids: readonly string[]): Promise<readonly string[]>;

  createApiKey(wanted: NewApiKey): Promise<{ readonly key: ApiKey; readonly secret: string }>;
  listApiKeys(wish: { limit: number }): Promise<readonly ApiKey[]>;
  /** False when there is none of this id. */
  revokeApiKey(id: string): Promise<boolean>;

  /** Looks for what keeps jobs from running, and where the registry can be seen, holds it against the deployment. */
  examine(deployment: Deployment | undefined): Promise<readonly Finding[]>;
}
