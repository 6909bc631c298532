import type { Dispatched } from '../aws/functions.ts';
import { type ClaimedJob, claim } from '../jobs/claim.ts';
import { type DispatchDeps, sendClaimed } from './dispatch.ts';

export interface DrainLimits {
  /** How many jobs a claim takes, at most. */
  readonly claimLimit: number;
  /** Whether to claim again after this number of claims. */
  readonly goesOn: (claims: number) => boolean;
}

/**
 * Dispatches due jobs until a claim finds fewer than it may take. While SQS accepts all messages, it claims the next
 * jobs during the send; after a refusal, it first holds what cannot be sent.
 */
export async function drainDue(deps: DispatchDeps, { claimLimit, goesOn }: DrainLimits): Promise<Dispatched> {
  const total = { claimed: 0, sent: 0 };
  let ahead: Promise<readonly ClaimedJob[]> | undefined;
  let isSmooth = false;
  for (let claims = 1; ; claims++) {
    const jobs = await (ahead ?? claim(deps.db, claimLimit, deps));
    const isFull = jobs.length === claimLimit;
    ahead = isFull && isSmooth && goesOn(claims) ? claim(deps.db, claimLimit, deps) : undefined;
    // It is awaited only after the send.
    ahead?.catch(() => undefined);
    const { claimed, sent } = await sendClaimed(deps, jobs).catch(async (error: unknown) => {
      // Without a send, these jobs would wait until their claim counts as unconfirmed.
      await ahead?.then((claimedToo) => sendClaimed(deps, claimedToo)).catch(() => undefined);
      throw error;
    });
    total.claimed += claimed;
    total.sent += sent;
    isSmooth = sent === claimed;
    if (!isFull || (ahead === undefined && !goesOn(claims))) return total;
  }
}
