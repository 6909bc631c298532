import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type DispatchDeps, dispatch } from '../../../core/dispatch/dispatch.ts';
import { runOnce } from '../../../core/dispatch/dispatcher.ts';
import { holdHandlers } from '../../../core/jobs/hold.ts';
import { systemTime } from '../../../core/time.ts';
import {
  deploy,
  insertJobs,
  memoryQueues,
  openEngine,
  queueOf,
  recordLog,
  shiftClock,
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
  deps = { db, queues, log, random: () => 1 };
});

const jobs = async () => (await pool.query('select * from millrace.jobs_live order by id')).rows;
/** For how long the handlers with jobs are held, in seconds. */
const handlerHolds = async (): Promise<(number | null)[]> =>
  (
    await pool.query(`select round(extract(epoch from held_until - millrace.clock()))::int as s from millrace.handlers
      where job_type in (select job_type from millrace.jobs_live) order by job_type`)
  ).rows.map(({ s }) => s);
const holds = async (): Promise<(number | null)[]> =>
  (
    await pool.query(
      'select round(extract(epoch from hold_until - millrace.clock()))::int as s from millrace.jobs_live order by id',
    )
  ).rows.map(({ s }) => s);

describe('a message that SQS does not accept', () => {
  it.each(['refused', 'unknown'] as const)(
    'holds its handler 5 s, doubling to a minute, when all are %s',
    async (kind) => {
      await deploy(db, { jobType: 'mail' });
      await insertJobs(pool, 'mail', 1);
      queues.judge = () => kind;
      const waits: (number | null)[] = [];

      for (let n = 0; n < 8; n++) {
        await dispatch(deps, 1000);
        waits.push(...(await handlerHolds()));
        await shiftClock(pool, 301 * (n + 1));
      }
      queues.judge = () => 'sent';
      await dispatch(deps, 1000);
      await pool.query(`update millrace.jobs_live set status = 'pending', lease_expires_at = null`);
      queues.judge = () => kind;
      await dispatch(deps, 1000);

      expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60, 60]);
      expect([await handlerHolds(), await holds()]).toEqual([[5], [null]]);
      expect(await jobs()).toMatchObject([{ status: 'pending', attempts: 0, losses: 0, last_error: null }]);
    },
  );

  it.each(['refused', 'unknown'] as const)('waits 5 s, doubling to 5 min, when it alone is %s', async (kind) => {
    await deploy(db, { jobType: 'mail' });
    const [refused] = await insertJobs(pool, 'mail', 1);
    queues.judge = (_url, { id }) => (id === refused ? kind : 'sent');
    const waits: (number | null)[] = [];

    for (let n = 0; n < 8; n++) {
      await insertJobs(pool, 'mail', 1);
      await dispatch(deps, 1000);
      waits.push((await holds())[0] ?? null);
      await shiftClock(pool, 301 * (n + 1));
    }

    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
    expect(await handlerHolds()).toEqual([null]);
  });

  it('delays a backlog by little more than the outage of SQS', async () => {
    await deploy(db, { jobType: 'mail' });
    await insertJobs(pool, 'mail', 3000);
    queues.judge = () => 'unknown';
    for (let second = 0; second < 10; second++) {
      await shiftClock(pool, second);
      await dispatch(deps, 1000);
    }
    queues.judge = () => 'sent';

    await shiftClock(pool, 20);
    const { sent } = await dispatch(deps, 1000);

    expect(sent).toBeGreaterThan(0);
    const { rows } = await pool.query(`select count(*)::int as waiting from millrace.jobs_live
      where status = 'pending' and due_at > millrace.clock()`);
    expect(rows).toEqual([{ waiting: 0 }]);
  });

  it('waits as long after a refusal of a later run, in another process', async () => {
    await deploy(db, { jobType: 'mail' }, { jobType: 'other' });
    await insertJobs(pool, 'mail', 1);
    queues.judge = (queueUrl) => (queueUrl === queueOf('mail') ? 'refused' : 'sent');
    const waits: (number | null)[] = [];

    for (let n = 1; n <= 8; n++) {
      await runOnce({ db, queues, log: recordLog(), time: systemTime, random: () => 1 });
      waits.push(...(await handlerHolds()));
      await shiftClock(pool, 301 * n);
    }
    await deploy(db, { jobType: 'mail' }, { jobType: 'other' });
    const kept = await pool.query('select job_type, refusals from millrace.handlers order by 1');

    expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60, 60]);
    expect(kept.rows).toEqual([
      { job_type: 'mail', refusals: 8 },
      { job_type: 'other', refusals: 0 },
    ]);
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
});
