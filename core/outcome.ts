import type { StoredError } from './failure.ts';
import type { JobStatus } from './job.ts';

/** How an attempt ended. The attempts left and open cancel requests decide the status of the job. */
export type Outcome =
  /** The handler returned; `result` is JSON text, or null without a result. */
  | { readonly kind: 'succeeded'; readonly result: string | null; readonly enqueued?: EnqueuedWithSuccess }
  /** The attempt failed and counts, and the job is due again after the delay. */
  | { readonly kind: 'failed'; readonly error: StoredError; readonly delaySeconds: number }
  /** The attempt failed, and the job becomes a dead letter without another attempt. */
  | { readonly kind: 'dead_letter'; readonly error: StoredError }
  /** The handler found nothing left to do. */
  | { readonly kind: 'skipped'; readonly error: StoredError }
  /** The handler cancelled the job. */
  | { readonly kind: 'cancelled'; readonly error: StoredError }
  /** The handler postponed the job: the attempt does not count, and the job is due again after the delay. */
  | { readonly kind: 'snoozed'; readonly error: StoredError; readonly delaySeconds: number };

/** Jobs that are inserted in the transaction of a success. */
export interface EnqueuedWithSuccess {
  /** The members of JSON objects, as `millrace.enqueue_follow_ups` reads them, without the braces and the parent. */
  readonly groups: readonly string[];
  /** Number of the jobs. */
  readonly jobs: number;
  /** If the database refuses them, the attempt has failed, and the job is due again after this delay, in seconds. */
  readonly delaySeconds: number;
}

/** An outcome to store, with the claim that it belongs to. */
export interface Settlement {
  readonly jobId: string;
  readonly claimNo: string;
  readonly outcome: Outcome;
  /** Whether the attempt may have ended its process: the job then starts its next attempt alone. */
  readonly suspect?: boolean;
}

/** The statuses that a job can have after an attempt; `pending` after a snooze. */
export type SettledStatus = Exclude<JobStatus, 'dispatched' | 'running'>;

/** The result of a settlement. */
export interface Settled {
  readonly jobId: string;
  /** Null if the row belonged to another claim, was locked, or refused the outcome. */
  readonly status: SettledStatus | null;
  /** When the job is due again; null or absent unless it waits. */
  readonly dueAt?: Date | null;
}

/** A completed attempt. */
export interface AttemptResult {
  readonly outcome: Outcome;
  readonly number: number;
  readonly max: number;
  readonly durationMs: number;
  /** The handler still runs after its timeout: its process must not serve another batch. */
  readonly overstayed: boolean;
}
