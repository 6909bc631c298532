import { randomUUID } from 'node:crypto';
import { claim } from '../core/jobs/claim.ts';
import { confirmDispatch } from '../core/jobs/confirm.ts';
import { settle } from '../core/jobs/settle.ts';
import { start } from '../core/jobs/start.ts';
import { CLAIM, checkSucceeded, connect, enqueue, IN_FLIGHT, prepare } from './contenders/millrace.ts';
import { type Cost, type Meter, sum } from './measures/meter.ts';

export const PHASES = ['enqueue', 'claim', 'start', 'settle'] as const;
export type PhaseCosts = Record<(typeof PHASES)[number], Cost>;

interface Claimed {
  readonly id: string;
  readonly claimNo: string;
}

/** Measures the statements of the engine phase by phase, in slices of as many jobs as may be in flight. */
export async function runPhases(url: string, meter: Meter, options: { jobs: number; batch: number; handlers: number }) {
  const { db, epoch } = await prepare(url, options.batch);
  const handlers = Array.from({ length: options.handlers }, () => connect(url));
  const enqueued = await meter.measure(() => enqueue(db, options.jobs));
  const costs: Record<'claim' | 'start' | 'settle', Cost[]> = { claim: [], start: [], settle: [] };
  for (let done = 0; done < options.jobs; done += IN_FLIGHT) {
    const slice = Math.min(IN_FLIGHT, options.jobs - done);
    const claimed: Claimed[] = [];
    costs.claim.push(await meter.measure(() => claimAll(db, slice, claimed)));
    const work = (each: (own: (typeof handlers)[number], jobs: Claimed[]) => Promise<unknown>) =>
      meter.measure(() => sideBySide(handlers, batchesOf(claimed, options.batch), each));
    // As long as that of Lambda.
    const requestId = randomUUID();
    costs.start.push(
      await work(async (own, jobs) => {
        const requests = jobs.map(({ id, claimNo }) => ({
          epoch,
          jobId: id,
          claimNo,
          messageId: messageOf(id),
          sentAt: 1,
        }));
        return start(own, { jobType: 'no_op', routingKey: '', requestId, requests, leaseSeconds: 0, suspects: false });
      }),
    );
    costs.settle.push(
      await work((own, jobs) =>
        settle(
          own,
          jobs.map(({ id, claimNo }) => ({ jobId: id, claimNo, outcome: { kind: 'succeeded', result: null } })),
          { requestId },
        ),
      ),
    );
  }
  await checkSucceeded(db, options.jobs);
  await Promise.all([db, ...handlers].map((one) => one.close()));
  return { enqueue: enqueued, claim: sum(costs.claim), start: sum(costs.start), settle: sum(costs.settle) };
}

async function claimAll(db: ReturnType<typeof connect>, jobs: number, claimed: Claimed[]): Promise<void> {
  while (claimed.length < jobs) {
    const batch = await claim(db, CLAIM);
    const [first] = batch;
    if (first === undefined) throw new Error(`claimed ${claimed.length} jobs, expected ${jobs}`);
    await confirmDispatch(db, first.claimNo, { sent: batch.length, refused: 0 });
    claimed.push(...batch);
  }
}

async function sideBySide<T>(
  lanes: readonly T[],
  batches: readonly Claimed[][],
  each: (lane: T, jobs: Claimed[]) => Promise<unknown>,
) {
  const rest = batches.values();
  await Promise.all(
    lanes.map(async (lane) => {
      for (const jobs of rest) await each(lane, jobs);
    }),
  );
}

function batchesOf(jobs: readonly Claimed[], size: number): Claimed[][] {
  return Array.from({ length: Math.ceil(jobs.length / size) }, (_, place) =>
    jobs.slice(place * size, (place + 1) * size),
  );
}

/** Returns an id with the length of an SQS message id. */
function messageOf(jobId: string): string {
  return `00000000-0000-4000-8000-${jobId.padStart(12, '0')}`;
}
