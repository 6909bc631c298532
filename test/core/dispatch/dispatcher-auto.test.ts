import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type DispatcherDeps, type DispatcherSettings, runDispatcher } from '../../../core/dispatch/dispatcher.ts';
import { deploy, insertJobs, memoryQueues, openEngine, shiftClock } from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

const settings: DispatcherSettings = {
  mode: 'loop',
  pollIntervalMs: 1000,
  windowMs: 125_000,
};

let queues = memoryQueues();
const depsWith = (time: DispatcherDeps['time']): DispatcherDeps => ({ db, queues, log, time, random: () => 0.5 });

beforeEach(async () => {
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.dispatches; delete from millrace.handlers;' +
      'delete from millrace.schedules',
  );
  await pool.query('update millrace.dispatcher_runs set last_active_at = millrace.clock()');
  await shiftClock(pool, 0);
  queues = memoryQueues();
  log.lines.length = 0;
});

describe('a run in mode auto', () => {
  const auto = { ...settings, mode: 'auto' as const, windowMs: 10_000 };
  const idle = () =>
    pool.query(`update millrace.dispatcher_runs set last_active_at = millrace.clock() - interval '11 minutes',
      last_job_id = (select case when is_called then last_value else 0 end from millrace.job_ids)`);
  const sleepsOf = async () => {
    const time = stillTime();
    await runDispatcher(depsWith(time), auto);
    return time.sleeps;
  };

  it('runs one round without activity in the last ten minutes', async () => {
    await idle();

    expect(await sleepsOf()).toBe(0);
  });

  it('loops after activity in the last ten minutes', async () => {
    await idle();
    await pool.query(`update millrace.dispatcher_runs set last_active_at = millrace.clock() - interval '9 minutes'`);

    expect(await sleepsOf()).toBe(9);
  });

  it.each([
    ['a job that was enqueued since', 9, async () => insertJobs(pool, 'unregistered', 1)],
    [
      'a job that is due within a minute',
      9,
      () =>
        pool.query(`insert into millrace.jobs (job_type, run_at) values ('mail', now() + interval '50 s')`).then(idle),
    ],
    [
      'a job that is due later than a minute',
      0,
      () =>
        pool.query(`insert into millrace.jobs (job_type, run_at) values ('mail', now() + interval '90 s')`).then(idle),
    ],
    [
      'a job in flight',
      9,
      () =>
        insertJobs(pool, 'removed', 1)
          .then(() =>
            pool.query(
              `insert into millrace.handler_starts values ('removed', '', 0);
               update millrace.jobs_live set status = 'running', claim_no = 1, started_at = now(),
                 lease_expires_at = now() + interval '1 h'`,
            ),
          )
          .then(idle),
    ],
    [
      'a schedule whose tick is within a minute',
      9,
      () =>
        pool.query(`insert into millrace.schedules (name, job_type, every_seconds, next_tick_at)
          values ('soon', 'mail', 86400, millrace.clock() + interval '50 s')`),
    ],
    [
      'a schedule whose tick is later than a minute',
      0,
      () =>
        pool.query(`insert into millrace.schedules (name, job_type, every_seconds, next_tick_at)
          values ('later', 'mail', 86400, millrace.clock() + interval '90 s')`),
    ],
    ['a running redrive with a rate', 9, () => pool.query(`select millrace.start_redrive('{"all": true}', 0.001)`)],
  ])('with %s, sleeps %d times', async (_what, expected, arrange) => {
    await deploy(db, { jobType: 'mail' });
    await idle();
    await arrange();

    const sleeps = await sleepsOf();
    await pool.query('delete from millrace.operations');

    expect(sleeps).toBe(expected);
  });
});

it.each([
  ['a redrive with a rate runs', 0.001, 9],
  ['one without a rate runs', null, 0],
])('in mode tick, while %s, its rate being %s, a run sleeps %s times', async (_what, rate, expected) => {
  await pool.query(`select millrace.start_redrive('{"all": true}', $1)`, [rate]);
  const time = stillTime();

  await runDispatcher(depsWith(time), { ...settings, mode: 'tick', windowMs: 10_000 });
  await pool.query('delete from millrace.operations');

  expect(time.sleeps).toBe(expected);
});
