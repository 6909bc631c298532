import type { ApiKey, NewApiKey } from '../../core/access/api-keys.ts';
import type { Discarded } from '../../core/dead-letters/discard.ts';
import type { DeadLetterFilter } from '../../core/dead-letters/filter.ts';
import type { DeadLetterGroup, ShownGroup } from '../../core/dead-letters/group-dead-letters.ts';
import type { ListedDeadLetter, PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { NamedJob, PreviewedHandler } from '../../core/dead-letters/preview-redrive.ts';
import type { RedriveOperation } from '../../core/dead-letters/redrive-operation.ts';
import type { ShownDeadLetter } from '../../core/dead-letters/show-dead-letter.ts';
import type { NewJob } from '../../core/enqueue/enqueue-options.ts';
import type { Enqueued, EnqueuedForKey } from '../../core/enqueue/insert-jobs.ts';
import type { HandlerAddress } from '../../core/handler/naming.ts';
import type { ScheduleSpec } from '../../core/handler/schedule.ts';
import type { Job } from '../../core/job.ts';
import type { CancelAnswer } from '../../core/jobs/cancel.ts';
import type { DeleteAnswer } from '../../core/jobs/delete.ts';
import type { RetryAnswer } from '../../core/jobs/redrive.ts';
import type { JobFilter } from '../../core/look/job-filter.ts';
import type { ListedJob } from '../../core/look/page-jobs.ts';
import type { ShownAttempt } from '../../core/look/show-job.ts';
import type { HandlerNumbers } from '../../core/numbers/read-metrics.ts';
import type { ReadSeries, SeriesWish } from '../../core/numbers/series.ts';
import type { Stats } from '../../core/numbers/stats.ts';
import type { Operation, OperationVerb } from '../../core/operations/operation.ts';
import type { OperationPlan, OperationPreview, OperationStart } from '../../core/operations/start-operation.ts';
import type { RegisteredHandler } from '../../core/registry/list-handlers.ts';
import type { DeleteScheduleAnswer } from '../../core/schedules/change-schedule.ts';
import type { Schedule, ShownSchedule } from '../../core/schedules/list-schedules.ts';
import type { ExpectedStage } from '../doctor/expected-stage.ts';
import type { Finding } from '../doctor/findings.ts';

type Hidden = 'uniqueKey' | 'groupKey' | 'lastError' | 'claimNo';

/** A job with all parts that the caller may see; the other parts are undefined. */
export interface SeenJob {
  readonly job: Omit<Job, Hidden | 'payload' | 'result'> & {
    readonly [Part in Hidden]?: Job[Part] | undefined;
  } & {
    /** JSON text with exact numbers; null if it is too large. */
    readonly payload: string | null | undefined;
    /** JSON text; null if there is no result. */
    readonly result: string | null | undefined;
  };
  /** Newest first. */
  readonly attempts: readonly ShownAttempt[] | undefined;
  /** Whether the job has older attempts. */
  readonly moreAttempts: boolean | undefined;
  readonly waiting: string | null | undefined;
}

/** A dead letter with everything that the caller may see: `payload` and `rawBody` are undefined when hidden. */
export type SeenDeadLetter = Omit<ShownDeadLetter, 'payload' | 'rawBody'> & {
  readonly payload: string | null | undefined;
  readonly rawBody: string | null | undefined;
};

/** A schedule with everything that the caller may see: `payload` is undefined when hidden. */
export type SeenSchedule = Omit<ShownSchedule, 'payload'> & { readonly payload: string | undefined };

/** The largest number of running redrives that are read: more than ever run at once. */
export const MOST_REDRIVES = 1000;

/** The state of jobs, handlers and redrives. */
export interface Overview {
  readonly stats: Stats;
  readonly handlers: readonly HandlerNumbers[];
  readonly redrives: readonly RedriveOperation[];
}

/** The operations that commands perform, through the database or the API. */
export interface Backend {
  readOverview(): Promise<Overview>;
  /** @throws CommandFailure that names what to change in the wish. */
  readSeries(wish: SeriesWish): Promise<ReadSeries>;

  listJobs(filter: JobFilter, limit: number): Promise<readonly ListedJob[]>;
  showJob(id: string): Promise<SeenJob | undefined>;
  /** Reads the state of these jobs, in their order. */
  readNamedJobs(ids: readonly string[]): Promise<readonly NamedJob[]>;
  enqueue(job: NewJob): Promise<Enqueued>;
  /** Enqueues a job with the routing key `*`; returns the jobs in the order of their routing keys. */
  enqueueAll(job: NewJob): Promise<readonly EnqueuedForKey[]>;
  /** Returns whether the job's handler is deployed; undefined when the caller may not know. */
  isHandled(id: string): Promise<boolean | undefined>;
  retry(id: string): Promise<RetryAnswer>;
  cancel(id: string): Promise<CancelAnswer>;
  deleteJob(id: string): Promise<DeleteAnswer>;

  listHandlers(only?: HandlerAddress): Promise<readonly RegisteredHandler[]>;
  pauseHandler(address: HandlerAddress): Promise<void>;
  resumeHandler(address: HandlerAddress): Promise<void>;

  /** Returns the filter with times instead of durations. */
  pinTimes(filter: DeadLetterFilter): Promise<PinnedFilter>;
  listDeadLetters(filter: PinnedFilter, limit: number): Promise<readonly ListedDeadLetter[]>;
  showDeadLetter(wanted: { jobId: string } | { strayId: string }): Promise<SeenDeadLetter | undefined>;
  /** Reads all that match, oldest first. */
  exportDeadLetters(filter: PinnedFilter): AsyncIterable<SeenDeadLetter>;
  groupDeadLetters(filter: PinnedFilter, limit: number): Promise<readonly DeadLetterGroup[]>;
  showGroup(fingerprint: string): Promise<ShownGroup | undefined>;
  /** Returns up to `MOST_FOUND` fingerprints with this prefix. */
  findGroups(beginning: string): Promise<readonly string[]>;

  /** Counts the matching dead letters and returns the id of the newest. */
  countDeadLetters(filter: PinnedFilter): Promise<{ readonly count: number; readonly untilId: string }>;
  /** Discards in steps, up to the newest that was counted. */
  discardDeadLetters(filter: PinnedFilter, untilId: string): AsyncIterable<Discarded>;
  /** Returns false when no open stray has this id. */
  discardStray(id: string): Promise<boolean>;

  listRedrives(wish: { limit: number; status?: 'running' }): Promise<readonly RedriveOperation[]>;
  readRedrive(id: string): Promise<RedriveOperation | undefined>;
  previewRedrive(filter: PinnedFilter): Promise<readonly PreviewedHandler[]>;
  /** Returns the id of the redrive. */
  startRedrive(filter: PinnedFilter, options: { rate: number | null; limit: number | undefined }): Promise<string>;
  /** Moves some jobs of a redrive; undefined when only the dispatcher does that. */
  readonly stepRedrive: ((id: string) => Promise<RedriveOperation | undefined>) | undefined;
  /** Returns false when the redrive was not running. */
  cancelRedrive(id: string): Promise<boolean>;
  /** Returns which of these jobs the redrive moved. */
  findMoved(id: string, ids: readonly string[]): Promise<readonly string[]>;

  /** Counts the jobs that an operation would change. @throws CommandFailure for a filter that is refused. */
  previewOperation(plan: OperationPlan): Promise<OperationPreview>;
  /** Returns the id of the operation. */
  startOperation(start: OperationStart): Promise<string>;
  /** Changes some jobs of an operation; undefined when only the dispatcher does that. */
  readonly stepOperation: ((id: string) => Promise<Operation | undefined>) | undefined;
  listOperations(wish: { limit: number }): Promise<readonly Operation[]>;
  readOperation(id: string): Promise<Operation | undefined>;
  /** Returns false when the state of the operation does not permit it, or no operation has this id. */
  controlOperation(id: string, verb: OperationVerb): Promise<boolean>;

  listSchedules(wish: { limit: number }): Promise<readonly Schedule[]>;
  /** Returns a schedule with this number of next ticks; undefined if the name is unknown. */
  showSchedule(name: string, ticks: number): Promise<SeenSchedule | undefined>;
  /** Returns false when a schedule has this name. */
  createSchedule(spec: ScheduleSpec): Promise<boolean>;
  deleteSchedule(name: string): Promise<DeleteScheduleAnswer>;
  pauseSchedule(name: string): Promise<void>;
  resumeSchedule(name: string): Promise<void>;
  /** Returns the id of the job; undefined if the name is unknown. */
  runSchedule(name: string): Promise<string | undefined>;

  createApiKey(wanted: NewApiKey): Promise<{ readonly key: ApiKey; readonly secret: string }>;
  listApiKeys(wish: { limit: number }): Promise<readonly ApiKey[]>;
  /** Returns false when no key has this id. */
  revokeApiKey(id: string, options: { withMade: boolean }): Promise<boolean>;

  /**
   * Finds what keeps jobs from running, and compares the registry with the code where it can read the registry. Throws
   * when the connection fails, after the findings that it made before.
   */
  examine(expected: ExpectedStage | undefined): AsyncIterable<Finding>;
}
