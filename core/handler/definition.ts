import type { Duration } from '../duration.ts';
import type { Log } from '../log.ts';
import type { SettingOptions } from '../settings/declared.ts';
import type { AwsOptions } from './aws/aws-options.ts';
import type { InferPayload, PayloadSchema } from './payload.ts';
import type { RetryPolicy } from './policy-fields.ts';
import type { ScheduleOptions } from './schedule.ts';

/** An option whose default the environment may set. */
export const UNSET_OPTIONS = ['timeout', 'maxAttempts', 'retry'] as const;
export type UnsetOption = (typeof UNSET_OPTIONS)[number];

/** A checked definition: one file, one Lambda, one queue, one dead-letter queue. */
export interface HandlerDefinition<Schema extends PayloadSchema = PayloadSchema, Result = unknown> {
  readonly jobType: string;
  /** Routing key; `''` without one. */
  readonly routingKey: string;
  readonly payload: Schema;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly maxAttempts: number;
  readonly retry: RetryPolicy;
  readonly concurrency: number;
  readonly batch: { readonly size: number; readonly windowSeconds: number };
  readonly maxInFlight: number;
  readonly nativeModules?: readonly string[];
  /** Name of the handler that gets a job when a job of this one dies; `''` or absent: none does. */
  readonly onDeadLetter?: string;
  /** The schedules that enqueue its jobs, by name. */
  readonly schedules?: Readonly<Record<string, ScheduleOptions>>;
  /** The settings that a run reads, by name; see `RunContext.settings`. */
  readonly settings?: SettingOptions;
  /** The names of the secrets that a run reads. */
  readonly secrets?: readonly string[];
  /** What its function has on AWS only. */
  readonly aws?: AwsOptions;
  /** The options that the file does not state, and that the environment may set (`variables.ts`). Absent: none. */
  readonly unset?: readonly UnsetOption[];
  run(context: RunContext<InferPayload<Schema>>): Promise<Result>;
  /** Runs jobs of a batch together; `run` calls it for one job. */
  runBatch?(jobs: readonly RunContext<InferPayload<Schema>>[]): Promise<BatchResults<Result>>;
}

/**
 * What `runBatch` returns: the result of each job by its `jobId`. A result can be an error, or an outcome such as
 * `new RetryAfter('1m')`. A job without one has failed.
 */
export type BatchResults<Result> = ReadonlyMap<string, Result> | Readonly<Record<string, Result>>;

/** A definition without its code: plain data, which the registry and AWS receive. */
export type DefinitionData = Omit<HandlerDefinition, 'payload' | 'run' | 'runBatch'>;

/** The argument of a handler's `run`. `Setting` and `Secret`: the names that its definition lists. */
export interface RunContext<Payload, Setting extends string = string, Secret extends string = string> {
  readonly payload: Payload;
  /** The job's id, a decimal string; the same in every attempt, so it serves as an idempotency key. */
  readonly jobId: string;
  /** Number of this attempt and maximum number of attempts: attempt 2 of 3. If the last attempt fails, the job dies. */
  readonly attempt: { readonly number: number; readonly max: number; readonly isLast: boolean };
  /** Aborts at the handler's timeout; pass it to every call that waits. */
  readonly signal: AbortSignal;
  readonly log: Log<string>;
  /** The values of the settings that the definition names. */
  readonly settings: Readonly<Record<Setting, string>>;
  /**
   * The values of the secrets that the definition names, which do not change during the attempt. On AWS they were read
   * at most five minutes before its start.
   */
  readonly secrets: Readonly<Record<Secret, string>>;
  /**
   * Reports how far the attempt is, for `jobs show` and the API: a fraction from 0 to 1, and what it does. Call it as
   * often as you like: the newest report is stored once a second, and a report never fails or delays the attempt. A
   * fraction outside these bounds is moved to them, and one that is not a number is stored as unknown; the
   * log names the first such report of an attempt.
   */
  progress(fraction: number, text?: string): void;
  /**
   * Enqueues a job with the success of this one: in the same transaction, and only if `run` returns. A failed attempt
   * enqueues nothing, and a retry nothing twice. At most 10,000 jobs and 8 MB in one attempt.
   * @throws PayloadInvalid and SettingError as `enqueue` does, at once.
   */
  enqueue<Schema extends PayloadSchema>(
    handler: HandlerDefinition<Schema>,
    payload: PayloadInput<Schema>,
    options?: EnqueueOptions,
  ): Promise<void>;
  /**
   * Enqueues jobs, as `enqueue` does, and one more that waits until all of them have finished. Cancelling that one, or
   * this job, cancels the children that have not started.
   */
  enqueueChildren<Schemas extends readonly PayloadSchema[], Next extends PayloadSchema>(
    children: readonly [...{ [Index in keyof Schemas]: EnqueueItem<Schemas[Index]> }],
    options: ChildrenOptions<Next>,
  ): Promise<void>;
}

/** What happens when all children have finished. */
export interface ChildrenOptions<Schema extends PayloadSchema = PayloadSchema> {
  /** The job that waits for the children. It cannot have a `uniqueKey`. */
  readonly onAllFinished: EnqueueItem<Schema>;
  /**
   * With `wait`, the default, the job waits while a child is a dead letter, until that child is redriven or discarded.
   * With `continue`, a dead child counts as finished.
   */
  readonly onDeadChild?: 'wait' | 'continue';
}

/** The options of one job. */
export interface EnqueueOptions {
  /** Earliest time of the first attempt. Default now; excludes `delay`. */
  readonly runAt?: Date | undefined;
  /** Time until the first attempt, by the database's clock: `30s`, `5m`, or seconds. Excludes `runAt`. */
  readonly delay?: Duration | undefined;
  /**
   * Latest start of the first attempt: a time, or a duration after the run time. If no attempt that counts
   * has started by then, the job becomes `skipped`. Default: none.
   */
  readonly startBy?: Date | Duration | undefined;
  /** Priority from 0 to 9; lower numbers run first. Default 5. */
  readonly priority?: number | undefined;
  /** Largest number of attempts, 1 to 1000. Default: that of the deployed handler, or 5 without one. */
  readonly maxAttempts?: number | undefined;
  /**
   * Key of 1 to 500 characters. While another job of this handler holds the key, no other is inserted: by default until
   * that job has finished. Excludes `uniqueBy`.
   */
  readonly uniqueKey?: string | undefined;
  /** Makes the key of the payload: equal JSON values have equal keys. Excludes `uniqueKey`. */
  readonly uniqueBy?: 'payload' | undefined;
  /**
   * How long from its insert the job holds its key, unless it is cancelled: `10m`, or seconds, at most 365 days. With
   * `uniqueUntil`, it holds the key at most so long.
   */
  readonly uniqueFor?: Duration | undefined;
  /**
   * What ends the hold: with `dispatched`, the job's dispatch; with `dead_letter`, that it becomes a dead letter or
   * finishes; with `finished`, that it finishes. Default `finished`, unless `uniqueFor` is given.
   */
  readonly uniqueUntil?: 'dispatched' | 'dead_letter' | 'finished' | undefined;
  /**
   * What happens if another job holds the key. With `skip`, the default, nothing. With `replace`, that job gets the
   * payload and the options of this one, if it has not been dispatched.
   */
  readonly onConflict?: 'skip' | 'replace' | undefined;
  /** Key of 1 to 500 characters. SQS interleaves the jobs of groups, so a large group does not delay the others. */
  readonly groupKey?: string | undefined;
  /**
   * Name of the handler that gets a job if this one becomes a dead letter; `''`: none does. Default: that of its
   * handler's definition.
   */
  readonly onDeadLetter?: string | undefined;
  /** W3C trace context of the producer; a malformed one is ignored. Default: the active OpenTelemetry trace, if any. */
  readonly traceparent?: string | undefined;
}

/** The payload type that a producer passes; a handler receives the parsed type. Dates are ISO text in both. */
export type PayloadInput<Schema extends PayloadSchema> = NonNullable<Schema['~standard']['types']>['input'];

/** One job of `enqueueMany`. */
export interface EnqueueItem<Schema extends PayloadSchema = PayloadSchema> extends EnqueueOptions {
  readonly handler: HandlerDefinition<Schema>;
  readonly payload: PayloadInput<Schema>;
}
