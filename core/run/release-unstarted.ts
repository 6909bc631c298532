import { release } from '../jobs/release.ts';
import { readEpoch } from '../postgres/epoch.ts';
import { type BatchDeps, bounce, type Disposal } from './batch.ts';
import type { Delivery } from './decide.ts';

/**
 * Releases the claims of unstarted jobs: the dispatcher sends these jobs again, and their present messages are stale.
 * The release commits before any other job starts, so that a crash of a job cannot affect them. A message whose claim
 * cannot be released, because the row is locked or not dispatched, bounces. So does a message with another epoch,
 * because its claim number may belong to another job here: the decision table applies at its next delivery.
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
  // Two messages can name one job.
  const jobs = new Set(deliveries.map(({ message }) => message.jobId)).size;
  deps.log.info('released_unstarted', { jobs, released: released.size });
}
