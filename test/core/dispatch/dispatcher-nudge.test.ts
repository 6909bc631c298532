import { afterAll, expect, it } from 'vitest';
import { type DispatcherDeps, runOnce } from '../../../core/dispatch/dispatcher.ts';
import { deploy, insertJobs, memoryQueues, openEngine } from '../../support/runtime-engine.ts';
import { stillTime } from '../jobs/still-time.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

it('makes a second round a second later, which sends jobs enqueued in between', async () => {
  await deploy(db, { jobType: 'mail' });
  await insertJobs(pool, 'mail', 2);
  const still = stillTime();
  const waits: number[] = [];
  const time: DispatcherDeps['time'] = {
    ...still,
    sleep: async (ms) => {
      waits.push(ms);
      await insertJobs(pool, 'mail', 3);
    },
  };
  const queues = memoryQueues();

  const round = await runOnce({ db, queues, log, time, random: () => 0.5 }, true);

  expect(waits).toEqual([1000]);
  expect(round).toEqual({ claimed: 5, sent: 5 });
  expect(queues.sent).toHaveLength(5);
});
