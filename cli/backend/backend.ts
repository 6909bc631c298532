import type { ApiKey, NewApiKey } from '../../core/access/api-keys.ts';
import type { Discarded } from '../../core/dead-letters/discard.ts';
import type { DeadLetterFilter } from '../../core/dead-letters/filter.ts';
import type { DeadLetterGroup, ShownGroup } from '../../core/dead-letters/group-dead-letters.ts';
import type { ListedDeadLetter, PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { NamedJob, PreviewedHandler } from '../../core/dead-letters/preview-redrive.ts';
import type { RedriveOperation } from '../../core/dead-letters/redrive-operation.ts';
import type { ShownDeadLetter } from '../../core/dead-letters/show-dead-letter.ts';
import type { HandlerAddress } from '../../core/handler/naming.ts';
import type { Job } from '../../core/job.ts';
import type { CancelAnswer } from '../../core/jobs/cancel.ts';
import type { DeleteAnswer } from '../../core/jobs/delete.ts';
import type { Enqueued, NewJob } from '../../core/jobs/enqueue.ts';
import type { RetryAnswer } from '../../core/jobs/retry.ts';
import type { ListedJob, ListFilter } from '../../core/look/list-jobs.ts';
import type { ShownAttempt } from '../../core/look/show-job.ts';
import type { HandlerNumbers } from '../../core/numbers/read-metrics.ts';
import type { Stats } from '../../core/numbers/stats.ts';
import type { RegisteredHandler } from '../../core/registry/list-handlers.ts';
import type { ExpectedStage } from '../doctor/expected-stage.ts';
import type { Finding } from '../doctor/findings.ts';

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
export interface Backend {
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

  /** Looks for what keeps jobs from running, and where the registry can be read, compares it with the code. */
  examine(expected: ExpectedStage | undefined): Promise<readonly Finding[]>;
}
