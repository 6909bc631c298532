import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type DispatcherSettings, runDispatcher } from '../../../core/dispatch/dispatcher.ts';
import {
  deploy,
  type MemoryQueues,
  memoryQueues,
  openEngine,
  queueOf,
  shiftClock,
} from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

const settings: DispatcherSettings = { mode: 'tick', pollIntervalMs: 1000, windowMs: 1000 };
let queues: MemoryQueues;
const round = () => runDispatcher({ db, queues, log, time: stillTime(), random: () => 0.5 }, settings);
const jobs = async () =>
  (await pool.query('select job_type, status, attempts, last_error from millrace.jobs_live order by id')).rows;

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.dead_letters');
  await shiftClock(pool, 0);
  await deploy(db, { jobType: 'mail' });
  queues = memoryQueues();
  log.lines.length = 0;
});

describe('SQS-04', () => {
  it('a job without a handler waits without attempts, and a misspelt job type is reported', async () => {
    await pool.query(`insert into millrace.jobs (job_type) values ('report_v2'), ('typo_x')`);

    await round();
    const reported = log.events('no_handler').map(({ reason }) => reason);
    await shiftClock(pool, 600);
    await round();
    const waiting = await jobs();
    await deploy(db, { jobType: 'mail' }, { jobType: 'report_v2' });
    await round();

    expect(reported).toEqual(['no handler for report_v2, typo_x']);
    expect(waiting.map(({ status, attempts }) => [status, attempts])).toEqual([
      ['pending', 0],
      ['pending', 0],
    ]);
    expect(queues.sent.map(({ queueUrl }) => queueUrl)).toEqual([queueOf('report_v2')]);
    expect(await jobs()).toMatchObject([
      { job_type: 'report_v2', status: 'dispatched', attempts: 0 },
      { job_type: 'typo_x', status: 'pending', attempts: 0 },
    ]);
  });

  it('a job is sent if its handler is deployed within a day, and dead with the cause after a day', async () => {
    const hours = fc.float({ min: Math.fround(0.1), max: 60, noNaN: true });
    await fc.assert(
      fc.asyncProperty(hours, fc.constantFrom('', 'vector'), async (after, routingKey) => {
        await pool.query('delete from millrace.jobs_live; delete from millrace.dead_letters');
        await shiftClock(pool, 0);
        await deploy(db, { jobType: 'mail' });
        queues = memoryQueues();
        await pool.query(`insert into millrace.jobs (job_type, routing_key) values ('late', $1)`, [routingKey]);

        await shiftClock(pool, after * 3600);
        await round();
        await deploy(db, { jobType: 'late', ...(routingKey !== '' && { routingKey }) });
        await round();

        const [job] = await jobs();
        if (after < 24) expect([job.status, queues.sent.length]).toEqual(['dispatched', 1]);
        else
          expect(job).toMatchObject({
            status: 'dead_letter',
            last_error: expect.stringContaining('no handler for late'),
          });
        expect(job.attempts).toBe(0);
      }),
      { numRuns: 15 },
    );
  });
});
