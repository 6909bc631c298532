import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type DispatchDeps, dispatch } from '../../../core/dispatch/dispatch.ts';
import { deploy, insertJobs, memoryQueues, openEngine, shiftClock, statuses } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

let queues = memoryQueues();
let deps: DispatchDeps;
beforeEach(async () => {
  await pool.query(`delete from millrace.jobs_live; delete from millrace.dead_letters; delete from millrace.handlers;
    delete from millrace.dispatches`);
  await shiftClock(pool, 0);
  queues = memoryQueues();
  deps = { db, queues, log, random: () => 1 };
});

const jobs = async () => (await pool.query('select * from millrace.jobs_live order by id')).rows;

describe('a job whose message SQS does not accept', () => {
  it('is sent again under a higher claim, which makes an earlier copy stale', async () => {
    await deploy(db, { jobType: 'mail' });
    await insertJobs(pool, 'mail', 1);
    queues.judge = () => 'unknown';
    await dispatch(deps, 1000);
    const [before] = await jobs();
    queues.judge = () => 'sent';
    await shiftClock(pool, 6);

    await dispatch(deps, 1000);

    const [after] = await jobs();
    expect(after.status).toBe('dispatched');
    expect(BigInt(after.claim_no)).toBeGreaterThan(BigInt(before.claim_no));
  });

  it('does not affect the others, for any mix of verdicts', async () => {
    const verdict = fc.constantFrom('sent', 'refused', 'rejected', 'unknown' as const);
    await fc.assert(
      fc.asyncProperty(fc.array(verdict, { minLength: 1, maxLength: 30 }), async (verdicts) => {
        await pool.query(
          'delete from millrace.jobs_live; delete from millrace.dead_letters; delete from millrace.handlers',
        );
        await deploy(db, { jobType: 'mail' });
        const ids = await insertJobs(pool, 'mail', verdicts.length);
        queues.judge = (_url, { id }) => verdicts[ids.indexOf(id)]!;

        await dispatch({ ...deps }, 1000);

        const status = { sent: 'dispatched', refused: 'pending', unknown: 'pending', rejected: 'dead_letter' };
        expect((await jobs()).map((job) => job.status)).toEqual(verdicts.map((kind) => status[kind]));
        const { rows } = await pool.query('select job_id from millrace.dead_letters order by job_id');
        expect(rows.map(({ job_id }) => job_id)).toEqual(ids.filter((_, n) => verdicts[n] === 'rejected'));
      }),
      { numRuns: 15 },
    );
  });

  it('is not released when a handler has started its job in the meantime', async () => {
    await deploy(db, { jobType: 'mail' });
    await insertJobs(pool, 'mail', 2);
    const send = queues.send;
    queues.judge = () => 'unknown';
    queues.send = async (...call) => {
      const verdicts = await send(...call);
      await pool.query(
        `update millrace.jobs_live set status = 'running', started_at = now(), attempts = 1
           where id = (select min(id) from millrace.jobs_live)`,
      );
      return verdicts;
    };

    await dispatch(deps, 1000);

    expect(await statuses(pool)).toEqual({ running: 1, pending: 1 });
  });
});
