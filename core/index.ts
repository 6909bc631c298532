/** The public API: an application defines handlers and enqueues their jobs inside its own transactions. */
export type { ApiOptions } from './client/api-requests.ts';
export type { JsonOf } from './client/json-of.ts';
export {
  type ApiClient,
  type AwaitedJob,
  type EnqueuedJob,
  openClient,
  type ShownByApi,
  type WaitOptions,
} from './client/open-client.ts';
export type { Duration } from './duration.ts';
export { enqueue, enqueueAll, enqueueMany } from './enqueue/enqueue.ts';
export type { EnqueueClient } from './enqueue/enqueue-client.ts';
export type { Enqueued, EnqueuedForKey } from './enqueue/insert-jobs.ts';
export { ApiError, JobEnded, MigrationError, PayloadInvalid, SettingError, TimedOut } from './errors.ts';
export type { AwsOptions, PolicyStatement } from './handler/aws/aws-options.ts';
export { Cancel, DeadLetter, RetryAfter, Skip, Snooze } from './handler/chosen-outcome.ts';
export type { EnqueueItem, EnqueueOptions, PayloadInput } from './handler/definition.ts';
export {
  type BatchResults,
  type ChildrenOptions,
  defineHandler,
  type HandlerDefinition,
  type HandlerOptions,
  type RunContext,
} from './handler/handler.ts';
export type { InferPayload, PayloadSchema, SchemaIssue, SchemaResult } from './handler/payload.ts';
export { type Jitter, type RetryOptions, type RetryPolicy, type RetryPreview, retry } from './handler/retry-policy.ts';
export type { CatchUp, Overlap, ScheduleOptions } from './handler/schedule.ts';
export type { JobStatus } from './job.ts';
export type { Log, LogFields } from './log.ts';
export { type MigrateResult, migrate } from './postgres/migrate.ts';
export type { SettingOption, SettingOptions } from './settings/declared.ts';
