import { describeFailure } from '../../failure.ts';
import { fingerprintInHandler } from '../../fingerprint.ts';
import { type HandlerAddress, handlerName } from '../../handler/naming.ts';
import { type Jitter, type RetryPolicy, retryDelay } from '../../handler/retry-policy.ts';
import type { Outcome } from '../../outcome.ts';

/** Least jitter after a crash, so that jobs that one crash ended together do not restart together. */
const LEAST_JITTER = 0.2;
function crashJitter(jitter: Jitter): Jitter {
  if (jitter === 'none') return LEAST_JITTER;
  // `full` and `equal` spread more.
  return typeof jitter === 'number' ? Math.max(jitter, LEAST_JITTER) : jitter;
}

/** The error name of a crash of unknown cause. In `deadLetterOn` of a policy it stands for every crash. */
const LABEL = 'LeaseExpired';

/** What is known about the end of a process. */
export interface Crash {
  /** The error name of the attempt in the history; default `LeaseExpired`. */
  readonly name?: string;
  readonly message: string;
}

/** An attempt whose process was lost; `attempts` is its number. */
export interface CrashedAttempt extends HandlerAddress {
  readonly attempts: number;
}

/**
 * Returns the outcome of an attempt whose process was lost. It ignores `retryOn`, because the handler threw no error
 * and the next attempt may succeed. Only a policy whose `deadLetterOn` lists the name of the crash, or `LeaseExpired`,
 * makes a dead letter of it.
 */
export function crashOutcome(policy: RetryPolicy, attempt: CrashedAttempt, crash: Crash, chance: number): Outcome {
  const { name = LABEL, message } = crash;
  // The stack was lost with the process.
  const fingerprint = fingerprintInHandler({ name, message }, handlerName(attempt));
  const error = { ...describeFailure(new Error(message)), name, stack: null, fingerprint };
  if ([name, LABEL].some((label) => policy.deadLetterOn?.includes(label))) return { kind: 'dead_letter', error };
  const delaySeconds = retryDelay({ ...policy, jitter: crashJitter(policy.jitter) }, attempt.attempts, chance);
  return { kind: 'failed', error, delaySeconds };
}
