import { describeFailure } from '../failure.ts';
import { type Jitter, type RetryPolicy, retryDelay } from '../handler/retry-policy.ts';
import type { Outcome } from '../outcome.ts';

/** Least jitter after a crash, so that jobs that one crash ended together do not restart together. */
const LEAST_JITTER = 0.2;
function crashJitter(jitter: Jitter): Jitter {
  if (jitter === 'none') return LEAST_JITTER;
  // `full` and `equal` spread more.
  return typeof jitter === 'number' ? Math.max(jitter, LEAST_JITTER) : jitter;
}

/** The error name of a crash in the history, which `deadLetterOn` of a policy may list. */
const LABEL = 'LeaseExpired';

/**
 * Returns the outcome of an attempt whose process was lost. It ignores `retryOn`, because the handler threw no error
 * and the next attempt may succeed. Only a policy whose `deadLetterOn` lists `LeaseExpired` makes a dead letter of it.
 */
export function crashOutcome(policy: RetryPolicy, attempts: number, message: string, chance: number): Outcome {
  // The stack was lost with the process.
  const error = { ...describeFailure(new Error(message)), name: LABEL, stack: null };
  if (policy.deadLetterOn?.includes(LABEL)) return { kind: 'dead_letter', error };
  const delaySeconds = retryDelay({ ...policy, jitter: crashJitter(policy.jitter) }, attempts, chance);
  return { kind: 'failed', error, delaySeconds };
}
