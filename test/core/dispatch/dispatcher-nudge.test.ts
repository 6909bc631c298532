import { afterAll, beforeEach, expect, it } from 'vitest';
import { type DispatcherDeps, runOnce } from '../../../core/dispatch/dispatcher.ts';
import { deploy, insertJobs, memoryQueues, openEngine } from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());
beforeEach(() => pool.query('delete from millrace.jobs_live'));

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

  const round = await runOnce({ db, queues, log, time, random: () => 0.5 }, { again: true });

  expect(waits).toEqual([1000]);
  expect(round).toEqual({ claimed: 5, sent: 5 });
  expect(queues.sent).toHaveLength(5);
});

it('claims at most the given number of jobs, the first ones that are due', async () => {
  await deploy(db, { jobType: 'mail' });
  await insertJobs(pool, 'mail', 9);
  const queues = memoryQueues();

  const round = await runOnce({ db, queues, log, time: stillTime(), random: () => 0.5 }, { limit: 4 });

  const { rows } = await pool.query(`select status from millrace.jobs_live order by id`);
  expect(round).toEqual({ claimed: 4, sent: 4 });
  expect(rows.map(({ status }) => status)).toEqual([...Array(4).fill('dispatched'), ...Array(5).fill('pending')]);
});

it('claims in parts of the limit of its stage', async () => {
  await deploy(db, { jobType: 'mail' });
  await pool.query('delete from millrace.dispatches');
  await insertJobs(pool, 'mail', 9);
  const queues = memoryQueues();

  const round = await runOnce({ db, queues, log, time: stillTime(), random: () => 0.5, claimLimit: 4 });

  const { rows } = await pool.query('select claimed_count from millrace.dispatches order by claim_no');
  expect(round).toEqual({ claimed: 9, sent: 9 });
  expect(rows.map(({ claimed_count }) => claimed_count)).toEqual([4, 4, 1]);
});
