import { type BatchDeps, bounce, type Disposal } from './batch.ts';
import type { Delivery } from './decide.ts';
import { release } from './jobs/release.ts';

/**
 * Gives claims back unstarted: the dispatcher sends these jobs anew, and the messages at hand are stale. Written before
 * anything else is started, so that a crash of what is started takes none of them along. What cannot be released, since
 * its row is locked or was not waiting for a start, comes back as a message.
 */
export async function giveBack(deps: BatchDeps, disposal: Disposal, deliveries: readonly Delivery[]): Promise<void> {
  const releases = deliveries.map(({ message }) => ({ id: message.jobId, claimNo: message.claimNo, holdSeconds: 0 }));
  const released = new Set(await release(deps.db, releases));
  for (const delivery of deliveries) {
    if (!released.has(delivery.message.jobId)) bounce(disposal, delivery);
  }
  if (deliveries.length > 0) deps.log.info('given_back', { jobs: deliveries.length, released: released.size });
}
