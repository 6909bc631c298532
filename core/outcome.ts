import type { StoredError } from './failure.ts';
import type { JobStatus } from './job.ts';

/** How an attempt ended, as the runtime or rescue saw it. The row's limits and cancel requests decide the status. */
export type Outcome =
  /** The run returned; `result` is JSON text, or null for none. */
  | { readonly kind: 'succeeded'; readonly result: string | null }
  /** The attempt counts, and the job is due again after the delay. */
  | { readonly kind: 'failed'; readonly error: StoredError; readonly delaySeconds: number }
  /** The job is not tried again by itself. */
  | { readonly kind: 'dead_letter'; readonly error: StoredError }
  /** There is nothing to do any more, or the handler cancelled the job. */
  | { readonly kind: 'skipped' | 'cancelled'; readonly error: StoredError }
  /** Not now: the attempt does not count, and the job is due again after the delay. */
  | { readonly kind: 'snoozed'; readonly error: StoredError; readonly delaySeconds: number };

/** An outcome to store. */
export interface Settlement {
  readonly jobId: string;
  readonly claimNo: string;
  readonly outcome: Outcome;
}

/** The statuses in which an attempt can leave its job; `pending` after a snooze. */
export type SettledStatus = Exclude<JobStatus, 'dispatched' | 'running'>;

/** What became of a settlement. */
export interface Settled {
  readonly jobId: string;
  /** Null if the row belonged to another claim, was locked, or refused the outcome. */
  readonly status: SettledStatus | null;
  /** When the job is due again, if it waits. */
  readonly dueAt?: Date | null;
}

/** A run that is over. */
export interface AttemptResult {
  readonly outcome: Outcome;
  readonly number: number;
  readonly max: number;
  readonly durationMs: number;
  /** The run goes on after its timeout: its process must not serve another batch. */
  readonly overstayed: boolean;
}
