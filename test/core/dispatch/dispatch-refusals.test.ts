import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type DispatchDeps, dispatch } from '../../../core/dispatch/dispatch.ts';
import { holdHandlers } from '../../../core/jobs/hold.ts';
import { systemTime } from '../../../core/time.ts';
import {
  deploy,
  insertJobs,
  memoryQueues,
  openEngine,
  queueOf,
  shiftClock,
  statuses,
} from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

let queues = memoryQueues();
let deps: DispatchDeps;
beforeEach(async () => {
  await pool.query(`delete from millrace.jobs_live; delete from millrace.dead_letters; delete from millrace.handlers;
    delete from millrace.job_attempts; delete from millrace.job_events; delete from millrace.dispatches`);
  await shiftClock(pool, 0);
  queues = memoryQueues();
  log.lines.length = 0;
  deps = { db, queues, log, random: () => 1, refusals: new Map() };
});

const jobs = async () => (await pool.query('select * from millrace.jobs_live order by id')).rows;
const holds = async (): Promise<(number | null)[]> =>
  (
    await pool.query(
      'select round(extract(epoch from hold_until - millrace.clock()))::int as s from millrace.jobs_live order by id',
    )
  ).rows.map(({ s }) => s);

describe('a message that SQS does not accept', () => {
  it.each(['refused', 'unknown'] as const)('waits 5 s, doubling to 5 min, when it is %s', async (kind) => {
    await deploy(db, { jobType: 'mail' });
    await insertJobs(pool, 'mail', 1);
    queues.judge = () => kind;
    const waits: (number | null)[] = [];

    for (let n = 0; n < 8; n++) {
      await dispatch(deps, 1000);
      waits.push(...(await holds()));
      await shiftClock(pool, 301 * (n + 1));
    }
    queues.judge = () => 'sent';
    await dispatch(deps, 1000);
    await pool.query(`update millrace.jobs_live set status = 'pending', lease_expires_at = null`);
    queues.judge = () => kind;
    await dispatch(deps, 1000);

    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
    expect(await holds()).toEqual([5]);
    expect(await jobs()).toMatchObject([{ status: 'pending', attempts: 0, losses: 0, last_error: null }]);
  });

  it('makes a dead letter with the reason when SQS will never accept it', async () => {
    await deploy(db, { jobType: 'mail' });
    const [id] = await insertJobs(pool, 'mail', 1);
    queues.judge = () => 'rejected';

    await dispatch(deps, 1000);

    const reason = 'SQS refused the message: rejected by the test';
    const { rows: letters } = await pool.query('select * from millrace.dead_letters');
    const { rows: attempts } = await pool.query('select outcome, error_message, attempt from millrace.job_attempts');
    expect(await jobs()).toMatchObject([{ id, status: 'dead_letter', attempts: 0, last_error: reason }]);
    expect(letters).toMatchObject([{ job_id: id, status: 'open', job_type: 'mail', last_error: reason }]);
    expect(attempts).toEqual([{ outcome: 'dead_letter', error_message: reason, attempt: 0 }]);
  });

  it('holds its handler for a minute if the queue is missing, and is logged once', async () => {
    await deploy(db, { jobType: 'gone' }, { jobType: 'mail' });
    await insertJobs(pool, 'gone', 30);
    await insertJobs(pool, 'mail', 5);
    queues.judge = (queueUrl) => (queueUrl === queueOf('gone') ? 'no_queue' : 'sent');

    const first = await dispatch(deps, 1000);
    const second = await dispatch(deps, 1000);
    await shiftClock(pool, 61);
    const third = await dispatch(deps, 1000);

    const { rows } = await pool.query(
      'select job_type, hold_reason from millrace.handlers where held_until is not null',
    );
    expect([first, second, third]).toEqual([
      { claimed: 35, sent: 5 },
      { claimed: 0, sent: 0 },
      { claimed: 30, sent: 0 },
    ]);
    expect(rows).toEqual([{ job_type: 'gone', hold_reason: 'its queue does not exist' }]);
    expect(log.events('send_refused')).toHaveLength(2);
    expect(log.events('send_refused')[0]).toMatchObject({ queue: 'gone', no_queue: 30 });
  });

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

  it('does not wait for the locked row of its handler', async () => {
    await deploy(db, { jobType: 'held' });
    const client = await pool.connect();
    await client.query('begin');
    await client.query('select from millrace.handlers for update');

    const holding = await Promise.race([
      holdHandlers(db, { queueUrls: [queueOf('held')], seconds: 60, reason: 'test' }).then(() => 'done'),
      systemTime.sleep(5_000).then(() => 'waits'),
    ]);
    await client.query('rollback');
    client.release();

    expect(holding).toBe('done');
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

        await dispatch({ ...deps, refusals: new Map() }, 1000);

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
