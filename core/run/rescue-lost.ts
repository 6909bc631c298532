import { handlerName } from '../handler/naming.ts';
import { DEFAULT_RETRY_POLICY } from '../handler/retry-policy.ts';
import {
  findAttemptsOfRequest,
  findExpiredAttempts,
  type LostAttempt,
  releaseExpiredDispatched,
} from '../jobs/rescue.ts';
import { settle } from '../jobs/settle.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../numbers/emf.ts';
import type { Settled, Settlement } from '../outcome.ts';
import type { Database } from '../postgres/database.ts';
import { type Crash, crashOutcome } from './attempt/crash-outcome.ts';
import { interrupted } from './end-early.ts';
import { attemptFields, handlerFields } from './log-fields.ts';
import type { ProcessEnd } from './process-end.ts';

const LIMIT = 1000;

export interface Rescued {
  /** Attempts that ended because their lease expired. */
  readonly attempts: number;
  /** Jobs that were released because their message did not arrive. */
  readonly releases: number;
}

interface RescueDeps {
  readonly db: Database;
  readonly random: () => number;
  readonly log?: Log;
}

/** Ends every claim whose lease has expired. Its job is a suspect from then on. */
export async function rescue(deps: RescueDeps): Promise<Rescued> {
  const expired = await findExpiredAttempts(deps.db, LIMIT);
  const attempts = await endAttempts(deps, expired, { requestId: null, crashOf: unknownCrash });
  const releases = await releaseExpiredDispatched(deps.db, LIMIT);
  return { attempts, releases };
}

/**
 * Ends the attempts of processes whose end Lambda has logged, with its cause and before their leases expire. Returns
 * how many attempts it ended; none remain of a process that stored its outcomes first.
 */
export async function rescueEnded(
  deps: RescueDeps & { readonly metrics?: Metrics },
  ends: readonly ProcessEnd[],
): Promise<number> {
  let ended = 0;
  for (const end of ends) {
    const running = await findAttemptsOfRequest(deps.db, end);
    ended += await endAttempts(deps, running, { requestId: end.requestId, crashOf: () => end });
  }
  if (ended > 0) deps.metrics?.put({ LostAttempts: ended });
  return ended;
}

/** A request of a function: one invocation. */
export interface FunctionRequest {
  readonly functionName: string;
  readonly requestId: string;
}

/**
 * Ends the attempts of requests whose processes were stopped from outside, before their leases expire. Their jobs are
 * due at once and use no attempt. `reason` is a sentence for the history. Returns how many attempts it ended; none
 * remain of a process that stored its outcomes first.
 */
export async function endInterrupted(
  db: Database,
  requests: readonly FunctionRequest[],
  reason: string,
): Promise<number> {
  let ended = 0;
  for (const request of requests) {
    const running = await findAttemptsOfRequest(db, request);
    const settlements = running.map((attempt): Settlement => ({ ...attempt, outcome: interrupted(reason) }));
    const settled = await settle(db, settlements, { requestId: request.requestId });
    ended += settled.filter(({ status }) => status !== null).length;
  }
  return ended;
}

interface Ending {
  /** Ends only attempts of this Lambda request; null: only those whose lease has expired. */
  readonly requestId: string | null;
  readonly crashOf: (attempt: LostAttempt) => Crash;
}

async function endAttempts(
  { db, random, log }: RescueDeps,
  lost: readonly LostAttempt[],
  { requestId, crashOf }: Ending,
): Promise<number> {
  const settlements = lost.map((attempt): Settlement => {
    const policy = attempt.retryPolicy ?? DEFAULT_RETRY_POLICY;
    return { ...attempt, outcome: crashOutcome(policy, attempt, crashOf(attempt), random()), suspect: true };
  });
  const settled = await settle(db, settlements, { requestId, ...(log && { log }) });
  lost.forEach((attempt, index) => {
    const one = settled[index] as Settled;
    if (log && one.status !== null) logRescue(log, attempt, { ...one, reason: crashOf(attempt).message });
  });
  return settled.filter(({ status }) => status !== null).length;
}

function unknownCrash({ leaseSeconds }: LostAttempt): Crash {
  const message = `its process did not report back within ${Math.round(leaseSeconds)} s: search the function's log for the request id of the attempt`;
  return { message };
}

/** Logs the end of the attempt, because its own process can no longer log it. */
function logRescue(log: Log, attempt: LostAttempt, one: Settled & { readonly reason: string }): void {
  const { jobId, status, dueAt, reason } = one;
  const fields = attemptFields({ number: attempt.attempts, max: attempt.maxAttempts });
  const request = attempt.requestId ?? 'unknown';
  const lost = `the process of request ${request} did not report back on attempt ${fields.attempt}`;
  log.warn('attempt_rescued', {
    message: `${handlerName(attempt)}: ${lost}: ${reason}. The job is now ${status}.`,
    attempt_request_id: request,
    ...{ job_id: jobId, ...handlerFields(attempt), dispatch_id: attempt.claimNo, ...fields, status, reason },
    ...(status === 'failed' && dueAt && { next_retry_at: dueAt }),
  });
}
