import { handlerName } from '../handler/naming.ts';
import { DEFAULT_RETRY_POLICY } from '../handler/retry-policy.ts';
import { type ExpiredAttempt, findExpiredAttempts, releaseExpiredDispatched } from '../jobs/rescue.ts';
import { settle } from '../jobs/settle.ts';
import type { Log } from '../log.ts';
import type { Outcome, Settled, Settlement } from '../outcome.ts';
import type { Database } from '../postgres/database.ts';
import { crashOutcome } from './crash-outcome.ts';
import { attemptFields, handlerFields } from './log-fields.ts';

const LIMIT = 1000;

export interface Rescued {
  /** Attempts that ended because their lease expired. */
  readonly attempts: number;
  /** Jobs that were released because their message did not arrive. */
  readonly releases: number;
}

/** Ends every claim whose lease has expired. Its job is a suspect from then on. */
export async function rescue(deps: { db: Database; random: () => number; log?: Log }): Promise<Rescued> {
  const { db, random, log } = deps;
  const expired = await findExpiredAttempts(db, LIMIT);
  const settlements = expired.map(
    (attempt): Settlement => ({
      ...attempt,
      outcome: toEnding(attempt, random()),
      suspect: true,
    }),
  );
  const settled = await settle(db, settlements, { requestId: null, ...(log && { log }) });
  settled.forEach((one, index) => {
    if (log && one.status !== null) logRescue(log, expired[index] as ExpiredAttempt, one);
  });
  const releases = await releaseExpiredDispatched(db, LIMIT);
  return { attempts: settled.filter(({ status }) => status !== null).length, releases };
}

function toEnding({ attempts, leaseSeconds, retryPolicy }: ExpiredAttempt, chance: number): Outcome {
  const message = `its process did not report back within ${Math.round(leaseSeconds)} s: search the function's log for the request id of the attempt`;
  return crashOutcome(retryPolicy ?? DEFAULT_RETRY_POLICY, attempts, message, chance);
}

/** Logs the end of the attempt, because its own process can no longer log it. */
function logRescue(log: Log, attempt: ExpiredAttempt, { jobId, status, dueAt }: Settled): void {
  const fields = attemptFields({ number: attempt.attempts, max: attempt.maxAttempts });
  const request = attempt.requestId ?? 'unknown';
  const lost = `the process of request ${request} did not report back on attempt ${fields.attempt}`;
  log.warn('attempt_rescued', {
    message: `${handlerName(attempt)}: ${lost}. The job is now ${status}.`,
    attempt_request_id: request,
    ...{ job_id: jobId, ...handlerFields(attempt), dispatch_id: attempt.claimNo, ...fields, status },
    ...(status === 'failed' && dueAt && { next_retry_at: dueAt }),
  });
}
