import { describeFailure } from '../failure.ts';
import { handlerName } from '../handler/naming.ts';
import { DEFAULT_RETRY_POLICY, retryDelay } from '../handler/retry-policy.ts';
import { type ExpiredAttempt, findExpiredAttempts, releaseExpiredDispatched } from '../jobs/rescue.ts';
import { settle } from '../jobs/settle.ts';
import type { Log } from '../log.ts';
import type { Outcome, Settled, Settlement } from '../outcome.ts';
import type { Database } from '../postgres/database.ts';
import { attemptFields, handlerFields } from './log-fields.ts';

/** Least jitter after a crash, so that jobs that one crash ended together do not restart together. */
const LEAST_JITTER = 0.2;
const LIMIT = 1000;
/** The error name of a crash in the history, which `deadLetterOn` of a policy may list. */
const LABEL = 'LeaseExpired';

export interface Rescued {
  /** Attempts that ended because their lease expired. */
  readonly attempts: number;
  /** Jobs that were released because their message did not arrive. */
  readonly releases: number;
}

/**
 * Ends every claim whose lease has expired. Rescue ignores `retryOn` after a crash, because the handler threw no error
 * and the next attempt may succeed. Only a policy whose `deadLetterOn` lists `LeaseExpired` makes a dead letter of it.
 */
export async function rescue(deps: { db: Database; random: () => number; log?: Log }): Promise<Rescued> {
  const { db, random, log } = deps;
  const expired = await findExpiredAttempts(db, LIMIT);
  const settlements = expired.map((attempt): Settlement => ({ ...attempt, outcome: toEnding(attempt, random()) }));
  const settled = await settle(db, settlements, { requestId: null, ...(log && { log }) });
  settled.forEach((one, index) => {
    if (log && one.status !== null) logRescue(log, expired[index] as ExpiredAttempt, one);
  });
  const releases = await releaseExpiredDispatched(db, LIMIT);
  return { attempts: settled.filter(({ status }) => status !== null).length, releases };
}

function toEnding({ attempts, leaseSeconds, retryPolicy }: ExpiredAttempt, chance: number): Outcome {
  const policy = retryPolicy ?? DEFAULT_RETRY_POLICY;
  const message = `lease expired: the worker was lost, or ran longer than its lease of ${Math.round(leaseSeconds)} s`;
  // The stack was lost with the process.
  const error = { ...describeFailure(new Error(message)), name: LABEL, stack: null };
  if (policy.deadLetterOn?.includes(LABEL)) return { kind: 'dead_letter', error };
  const delaySeconds = retryDelay({ ...policy, jitter: Math.max(policy.jitter, LEAST_JITTER) }, attempts, chance);
  return { kind: 'failed', error, delaySeconds };
}

/** Logs the end of the attempt, because its own process can no longer log it. */
function logRescue(log: Log, attempt: ExpiredAttempt, { jobId, status, dueAt }: Settled): void {
  const fields = attemptFields({ number: attempt.attempts, max: attempt.maxAttempts });
  log.warn('attempt_rescued', {
    message: `${handlerName(attempt)} was lost on attempt ${fields.attempt}: its lease expired. It is now ${status}.`,
    ...{ job_id: jobId, ...handlerFields(attempt), dispatch_id: attempt.claimNo, ...fields, status },
    ...(status === 'failed' && dueAt && { next_retry_at: dueAt }),
  });
}
