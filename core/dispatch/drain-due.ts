import type { Dispatched } from '../aws/functions.ts';
import { type ClaimedJob, claim } from '../jobs/claim.ts';
import { type DispatchDeps, sendClaimed } from './dispatch.ts';

export interface DrainLimits {
  /** How many jobs a claim takes, at most. */
  readonly claimLimit: number;
  /** Whether to claim again after this number of claims. */
  readonly goesOn: (claims: number) => boolean;
}

/** Dispatches due jobs until a claim finds fewer than it may take. Claims the next jobs while it sends the last. */
export async function drainDue(deps: DispatchDeps, { claimLimit, goesOn }: DrainLimits): Promise<Dispatched> {
  const total = { claimed: 0, sent: 0 };
  let next: Promise<readonly ClaimedJob[]> | undefined = claim(deps.db, claimLimit, deps);
  for (let claims = 1; next !== undefined; claims++) {
    const jobs: readonly ClaimedJob[] = await next;
    next = jobs.length === claimLimit && goesOn(claims) ? claim(deps.db, claimLimit, deps) : undefined;
    // It is awaited only after the send.
    next?.catch(() => undefined);
    const { claimed, sent } = await sendClaimed(deps, jobs).catch(async (error: unknown) => {
      // Without a send, these jobs would wait until their claim counts as unconfirmed.
      await next?.then((claimedToo) => sendClaimed(deps, claimedToo)).catch(() => undefined);
      throw error;
    });
    total.claimed += claimed;
    total.sent += sent;
  }
  return total;
}
