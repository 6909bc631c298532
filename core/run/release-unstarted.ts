import { release } from '../jobs/release.ts';
import { readEpoch } from '../postgres/epoch.ts';
import { type BatchDeps, bounce, type Disposal } from './batch.ts';
import type { Delivery } from './decide.ts';

/**
 * Gives claims back unstarted: the dispatcher sends these jobs anew, and the messages at hand are stale. Written before
 * anything else is started, so that a crash of what is started takes none of them along. What cannot be released, since
 * its row is locked or was not waiting for a start, comes back as a message. So does a message of another life of this
 * database, since the claim of its number is somebody else's here: the table of decisions will judge it.
 */
export async function releaseUnstarted(
  deps: BatchDeps,
  disposal: Disposal,
  deliveries: readonly Delivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const epoch = await readEpoch(deps.db);
  const native = deliveries.filter(({ message }) => message.epoch === epoch);
  const releases = native.map(({ message }) => ({ id: message.jobId, claimNo: message.claimNo, holdSeconds: 0 }));
  const released = new Set(await release(deps.db, releases));
  for (const delivery of deliveries) {
    const { epoch: of, jobId } = delivery.message;
    if (of !== epoch || !released.has(jobId)) bounce(disposal, delivery);
  }
  deps.log.info('released_unstarted', { jobs: deliveries.length, released: released.size });
}
