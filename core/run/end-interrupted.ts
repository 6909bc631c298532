import { findAttemptsOfRequest } from '../jobs/rescue.ts';
import { settle } from '../jobs/settle.ts';
import type { Settlement } from '../outcome.ts';
import type { Database } from '../postgres/database.ts';
import { interrupted } from './end-early.ts';

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
