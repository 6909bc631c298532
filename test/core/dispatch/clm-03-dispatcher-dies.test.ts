import { spawn } from 'node:child_process';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { decodeMessage } from '../../../core/aws/message.ts';
import { dispatch } from '../../../core/dispatch/dispatch.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { createClient } from '../../support/database.ts';
import {
  deploy,
  insertJobs,
  markRunning,
  memoryQueues,
  openEngine,
  shiftClock,
  statuses,
} from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.dispatches; delete from millrace.handlers');
  await shiftClock(pool, 0);
  await deploy(db, { jobType: 'mail' });
});

const ROOT = new URL('../../../', import.meta.url).href;

/** A dispatcher that is killed between its claim and its send. */
const DYING = `
  import { openDatabase } from '${ROOT}core/postgres/database.ts';
  import { dispatch } from '${ROOT}core/dispatch/dispatch.ts';
  import { processLog as log } from '${ROOT}core/log.ts';
  const db = openDatabase({ connectionString: process.env.URL, max: 1, name: 'dying', log });
  const queues = { send: () => process.kill(process.pid, 'SIGKILL') };
  await dispatch({ db, queues, log, random: () => 1 }, 1000);`;

const attempts = async () =>
  (await pool.query('select distinct attempts, losses from millrace.jobs_live order by 1')).rows;

describe('CLM-03', () => {
  it('unsent jobs of a dead dispatcher are sent once, a minute later, at the cost of no attempt', async () => {
    const ids = await insertJobs(pool, 'mail', 25);
    const child = spawn(process.execPath, ['--input-type=module', '--eval', DYING], {
      env: { ...process.env, URL: engine.runtimeUrl },
    });
    const signal = await new Promise((resolve) => child.once('exit', (_code, by) => resolve(by)));
    const stranded = await statuses(pool);
    const queues = memoryQueues();
    const deps = { db, queues, log, random: () => 1 };

    const early = await dispatch(deps, 1000);
    await shiftClock(pool, 61);
    const released = await releaseUnconfirmed(db, 60);
    const shown = await statuses(pool);
    const late = await dispatch(deps, 1000);

    expect([signal, stranded]).toEqual(['SIGKILL', { dispatched: 25 }]);
    expect([early.claimed, released, shown, late.sent]).toEqual([0, 25, { pending: 25 }, 25]);
    expect(queues.sent.map(({ body }) => decodeMessage(body)?.jobId)).toEqual(ids);
    expect(await attempts()).toEqual([{ attempts: 0, losses: 0 }]);
  });

  it('a dispatch stays open while a transaction has locked one of its jobs, and the others are released', async () => {
    const ids = await insertJobs(pool, 'mail', 3);
    await claim(db, 10);
    await insertJobs(pool, 'mail', 2);
    await claim(db, 10);
    await shiftClock(pool, 61);
    const holder = await createClient(engine.test.url);
    await holder.query('begin');
    await holder.query('update millrace.jobs set priority = 1 where id = any($1)', [ids.slice(0, 2)]);

    const first = await releaseUnconfirmed(db, 60);
    const second = await releaseUnconfirmed(db, 60);
    const open = await pool.query('select claim_no from millrace.dispatches where released_at is null');
    await holder.query('rollback');
    await markRunning(pool, [ids[0]!]);
    const third = await releaseUnconfirmed(db, 60);
    const left = await pool.query('select claim_no from millrace.dispatches where released_at is null');

    expect([first, second, third]).toEqual([3, 0, 1]);
    expect([open.rowCount, left.rowCount]).toEqual([1, 0]);
    expect(await statuses(pool)).toEqual({ running: 1, pending: 4 });
  });

  it('messages that a dispatcher sent before it died are stale, and are sent again under a higher claim', async () => {
    const job = fc.record({ jobs: fc.integer({ min: 1, max: 40 }), sent: fc.integer({ min: 0, max: 40 }) });
    await fc.assert(
      fc.asyncProperty(job, async ({ jobs, sent }) => {
        await pool.query('delete from millrace.jobs_live');
        await shiftClock(pool, 0);
        await insertJobs(pool, 'mail', jobs);
        const queues = memoryQueues();
        const deps = { db, queues, log, random: () => 1 };
        const dying = {
          ...queues,
          send: async (url: string, messages: Parameters<typeof queues.send>[1]) => {
            await queues.send(url, messages.slice(0, sent));
            throw new Error('killed');
          },
        };

        await expect(dispatch({ ...deps, queues: dying }, 1000)).rejects.toThrow('killed');
        const early = queues.sent.map(({ body }) => decodeMessage(body)!);
        queues.sent.length = 0;
        await shiftClock(pool, 61);
        await releaseUnconfirmed(db, 60);
        await dispatch(deps, 1000);

        const late = new Map(queues.sent.map(({ body }) => [decodeMessage(body)!.jobId, decodeMessage(body)!.claimNo]));
        expect(late.size).toBe(jobs);
        for (const { jobId, claimNo } of early) expect(BigInt(late.get(jobId)!)).toBeGreaterThan(BigInt(claimNo));
      }),
      { numRuns: 10 },
    );
  });
});
