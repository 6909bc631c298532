import type { StoredError } from '../failure.ts';
import type { LoggedLine } from './captured-log.ts';

/** How an attempt ended. The status of the job follows from it: `snoozed` jobs are `pending`. */
export type RunOutcome =
  /** The handler returned. */
  | 'succeeded'
  /** The attempt failed, and another one is due at `nextAttemptAt`. */
  | 'failed'
  /** The job is dead: the attempt was the last, or its error is not retried. */
  | 'dead_letter'
  /** The handler threw or returned `Skip`. */
  | 'skipped'
  /** The handler threw or returned `Cancel`, or the job had a cancel request. */
  | 'cancelled'
  /** The handler threw or returned `Snooze`: the attempt does not count. */
  | 'snoozed';

/** What one attempt did. */
export interface HandlerRun {
  readonly outcome: RunOutcome;
  /**
   * What the handler returned, in the form in which the job stores it: after JSON, null without a value. Reading it
   * throws if the outcome is not `succeeded`, with the error of the attempt.
   */
  readonly result: unknown;
  /** The error, or the outcome that the handler chose; null if it succeeded. */
  readonly error: StoredError | null;
  /** Seconds until the next attempt; null unless the outcome is `failed` or `snoozed`. */
  readonly nextDelaySeconds: number | null;
  /** Time of the next attempt; null unless the outcome is `failed` or `snoozed`. */
  readonly nextAttemptAt: Date | null;
  /** What the handler logged, in order. */
  readonly log: readonly LoggedLine[];
}

/** Returns the run with its result, which throws for another outcome: a comparison then fails with the real reason. */
export function withResult<Run extends Omit<HandlerRun, 'result'>>(
  run: Run,
  { handler, result, cause }: { readonly handler: string; readonly result: unknown; readonly cause?: unknown },
): Run & HandlerRun {
  if (run.outcome === 'succeeded') return { ...run, result };
  const { outcome, error } = run;
  const get = (): never => {
    const told = error === null ? '' : `: ${error.name}: ${error.message}`;
    throw new Error(`${handler} has no result, because its outcome is ${outcome}${told}`, { cause: cause ?? error });
  };
  // Not enumerable: what prints or compares all fields must not throw.
  return Object.defineProperty({ ...run }, 'result', { get, enumerable: false }) as Run & HandlerRun;
}
