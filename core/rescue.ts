import type { Database } from './database.ts';
import { describeFailure } from './failure.ts';
import { type ExpiredAttempt, findExpiredAttempts, releaseExpiredDispatched } from './jobs/rescue.ts';
import { type Settlement, settle } from './jobs/settle.ts';
import { DEFAULT_RETRY_POLICY, retryDelay } from './retry-policy.ts';

/** What a crash took down at once must not come back at once. */
const LEAST_JITTER = 0.2;
const LIMIT = 1000;

export interface Rescued {
  /** Attempts that ended because their lease was over. */
  readonly attempts: number;
  /** Jobs given back because their message did not arrive. */
  readonly releases: number;
}

/** Ends every claim whose lease ran out. */
export async function rescue(deps: { db: Database; random: () => number }): Promise<Rescued> {
  const expired = await findExpiredAttempts(deps.db, LIMIT);
  const settled = await settle(
    deps.db,
    expired.map((attempt) => toSettlement(attempt, deps.random())),
    { requestId: null },
  );
  const releases = await releaseExpiredDispatched(deps.db, LIMIT);
  return { attempts: settled.filter(({ status }) => status !== null).length, releases };
}

function toSettlement(
  { jobId, claimNo, attempts, leaseSeconds, retryPolicy }: ExpiredAttempt,
  chance: number,
): Settlement {
  const policy = retryPolicy ?? DEFAULT_RETRY_POLICY;
  const delaySeconds = retryDelay({ ...policy, jitter: Math.max(policy.jitter, LEAST_JITTER) }, attempts, chance);
  const message = `lease expired: the worker was lost, or ran longer than its lease of ${Math.round(leaseSeconds)} s`;
  // There is no stack to tell: the process that had it is gone.
  const error = { ...describeFailure(new Error(message)), name: 'LeaseExpired', stack: null };
  return { jobId, claimNo, ending: { kind: 'failed', error, delaySeconds } };
}
