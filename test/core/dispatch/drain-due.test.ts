import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { drainDue } from '../../../core/dispatch/drain-due.ts';
import { openFloors } from '../../../core/jobs/claim-floors.ts';
import { systemTime } from '../../../core/time.ts';
import { deploy, insertJobs, memoryQueues, openEngine, statuses } from '../../support/runtime-engine.ts';
import { withQuery } from '../../support/with-query.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());
beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.dispatches');
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
  it('claims the next jobs while it sends the last', async () => {
    await insertJobs(pool, 'mail', 5);
    const { queues, deps } = openDrain();
    const send = queues.send;
    const claimedBefore: number[] = [];
    queues.send = async (...call) => {
      // The messages of the first claim are not sent before the second claim is stored.
      while (claimedBefore.length === 0 && (await claims()).length < 2) await systemTime.sleep(5);
      claimedBefore.push((await claims()).length);
      return send(...call);
    };

    const dispatched = await drainDue(deps, { claimLimit: 3, goesOn: () => true });

    expect(dispatched).toEqual({ claimed: 5, sent: 5 });
    expect(claimedBefore).toEqual([2, 2]);
    expect(await statuses(pool)).toEqual({ dispatched: 5 });
  });

  it('stops after the last claim that it may make', async () => {
    await insertJobs(pool, 'mail', 9);
    const { deps } = openDrain();

    const dispatched = await drainDue(deps, { claimLimit: 2, goesOn: (claimed) => claimed < 3 });

    expect(dispatched).toEqual({ claimed: 6, sent: 6 });
    expect(await statuses(pool)).toEqual({ dispatched: 6, pending: 3 });
  });

  it('sends what it has claimed although the dispatch before it failed', async () => {
    await insertJobs(pool, 'mail', 4);
    const { queues, deps } = openDrain();
    let confirmations = 0;
    const failing = withQuery(db, async (text, values) => {
      if (text.includes('update millrace.dispatches') && confirmations++ === 0) throw new Error('lost');
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
    expect(sent).toHaveLength(4);
    expect((await claims()).map(({ sent: isSent }) => isSent).toSorted()).toEqual([false, true]);
  });
});
