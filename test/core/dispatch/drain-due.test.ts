import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { drainDue } from '../../../core/dispatch/drain-due.ts';
import { openFloors } from '../../../core/jobs/claim-floors.ts';
import { systemTime } from '../../../core/time.ts';
import { deploy, insertJobs, memoryQueues, openEngine, queueOf, statuses } from '../../support/runtime-engine.ts';
import { withQuery } from '../../support/with-query.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());
beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.dispatches; delete from millrace.handlers');
  await deploy(db, { jobType: 'mail', maxInFlight: 1000, concurrency: 100 });
});

function openDrain() {
  const queues = memoryQueues();
  return { queues, deps: { db, queues, log, random: () => 1, floors: openFloors(systemTime) } };
}
const claims = async () =>
  (await pool.query('select claimed_count::int as n, sent_at is not null as sent from millrace.dispatches order by 1'))
    .rows;

describe('a drain', () => {
  it('claims the next jobs while it sends the last, once SQS has accepted all messages of a claim', async () => {
    await insertJobs(pool, 'mail', 8);
    const { queues, deps } = openDrain();
    const send = queues.send;
    const claimedBefore: number[] = [];
    queues.send = async (...call) => {
      // The messages of the second claim are not sent before the third claim is stored.
      while (claimedBefore.length === 1 && (await claims()).length < 3) await systemTime.sleep(5);
      claimedBefore.push((await claims()).length);
      return send(...call);
    };

    const dispatched = await drainDue(deps, { claimLimit: 3, goesOn: () => true });

    expect(dispatched).toEqual({ claimed: 8, sent: 8 });
    expect(claimedBefore).toEqual([1, 3, 3]);
    expect(await statuses(pool)).toEqual({ dispatched: 8 });
  });

  it('claims no jobs of a missing queue beyond the first claim', async () => {
    await deploy(db, { jobType: 'mail', maxInFlight: 1000, concurrency: 100 }, { jobType: 'other' });
    await insertJobs(pool, 'mail', 9);
    await insertJobs(pool, 'other', 2);
    const { queues, deps } = openDrain();
    queues.judge = (url) => (url === queueOf('mail') ? 'no_queue' : 'sent');

    const dispatched = await drainDue(deps, { claimLimit: 3, goesOn: () => true });

    expect(dispatched).toEqual({ claimed: 5, sent: 2 });
  });

  it('stops after the last claim that it may make', async () => {
    await insertJobs(pool, 'mail', 9);
    const { deps } = openDrain();

    const dispatched = await drainDue(deps, { claimLimit: 2, goesOn: (claimed) => claimed < 3 });

    expect(dispatched).toEqual({ claimed: 6, sent: 6 });
    expect(await statuses(pool)).toEqual({ dispatched: 6, pending: 3 });
  });

  it('sends what it has claimed although the dispatch before it failed', async () => {
    await insertJobs(pool, 'mail', 6);
    const { queues, deps } = openDrain();
    let confirmations = 0;
    const failing = withQuery(db, async (text, values) => {
      if (text.includes('update millrace.dispatches') && confirmations++ === 1) throw new Error('lost');
      return db.query(text, values);
    });
    const sent: string[] = [];
    const send = queues.send;
    queues.send = async (url, messages) => {
      sent.push(...messages.map(({ id }) => id));
      return send(url, messages);
    };

    const drained = drainDue({ ...deps, db: failing }, { claimLimit: 2, goesOn: () => true });

    await expect(drained).rejects.toThrow('lost');
    expect(sent).toHaveLength(6);
    expect((await claims()).map(({ sent: isSent }) => isSent).toSorted()).toEqual([false, true, true]);
  });
});
