import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type DispatcherDeps,
  type DispatcherSettings,
  runDispatcher,
  runOnce,
} from '../../../core/dispatch/dispatcher.ts';
import { registerRun } from '../../../core/dispatch/dispatcher-run.ts';
import { deploy, insertJobs, memoryQueues, openEngine, shiftClock, statuses } from '../../support/runtime-engine.ts';
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
const runRow = async () => (await pool.query('select * from millrace.dispatcher_runs')).rows[0];

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.dispatches; delete from millrace.handlers');
  await pool.query('update millrace.dispatcher_runs set last_active_at = millrace.clock()');
  await shiftClock(pool, 0);
  queues = memoryQueues();
  log.lines.length = 0;
});

describe('a run in mode loop', () => {
  it('runs a round every poll interval until its window ends', async () => {
    const time = stillTime();

    await runDispatcher(depsWith(time), { ...settings, pollIntervalMs: 5000 });

    expect(time.sleeps).toBe(24);
    expect(time.at).toBe(120_000);
  });

  it('sends jobs that were enqueued after a round in the next one', async () => {
    await deploy(db, { jobType: 'mail' });
    const seen: number[] = [];
    const time = stillTime(async (n) => {
      seen.push(queues.sent.length);
      if (n <= 3) await insertJobs(pool, 'mail', n);
    });

    await runDispatcher(depsWith(time), { ...settings, windowMs: 6000 });

    expect(seen).toEqual([0, 1, 3, 6, 6]);
  });

  it('stops after its round when a newer run has registered', async () => {
    const time = stillTime((n) => (n === 3 ? registerRun(db) : undefined));

    await runDispatcher(depsWith(time), settings);

    expect(time.sleeps).toBe(3);
  });

  it('continues in only one of many runs that start concurrently', async () => {
    const times = Array.from({ length: 4 }, () => stillTime(() => new Promise<void>((next) => setImmediate(next))));

    await Promise.all(times.map((time) => runDispatcher(depsWith(time), { ...settings, windowMs: 60_000 })));

    const sleeps = times.map((time) => time.sleeps).sort((a, b) => a - b);
    expect(sleeps[3]).toBe(59);
    expect(sleeps[2]).toBeLessThan(30);
  });

  it('rescues before it claims, so that rescued jobs are sent in the same round', async () => {
    await deploy(db, { jobType: 'mail' });
    await insertJobs(pool, 'mail', 2);
    await runOnce(depsWith(stillTime()));
    await pool.query(`update millrace.jobs_live set lease_expires_at = now() - interval '1 s'`);
    queues.sent.length = 0;

    await runOnce(depsWith(stillTime()));

    expect(queues.sent).toHaveLength(2);
    expect(log.events('rescued')).toMatchObject([{ releases: 2, attempts: 0, unconfirmed: 0 }]);
  });
});

describe('a run in mode tick', () => {
  it('drains once and stops, regardless of the number of due jobs', async () => {
    await deploy(db, { jobType: 'mail', concurrency: 1000, maxInFlight: 10_000 });
    await pool.query('update millrace.handlers set max_in_flight = max_in_flight_cap');
    await insertJobs(pool, 'mail', 2500);
    const time = stillTime();

    await runDispatcher(depsWith(time), { ...settings, mode: 'tick' });

    expect([queues.sent.length, time.sleeps]).toEqual([2500, 0]);
  });

  it('stops draining when sends are slow, and leaves the rest to the next round', async () => {
    await deploy(db, { jobType: 'mail', concurrency: 1000, maxInFlight: 10_000 });
    await pool.query('update millrace.handlers set max_in_flight = max_in_flight_cap');
    await insertJobs(pool, 'mail', 2500);
    const time = stillTime();
    const send = queues.send;
    queues.judge = () => 'unknown';
    queues.send = async (...call) => {
      time.at += 70_000;
      return send(...call);
    };

    await runDispatcher(depsWith(time), { ...settings, mode: 'tick' });

    expect(time.at).toBe(70_000);
    expect(await statuses(pool)).toEqual({ pending: 2500 });
  });
});

describe('a nudge', () => {
  it('runs one round without stopping a run', async () => {
    await deploy(db, { jobType: 'mail' });
    const before = await runRow();
    const time = stillTime(async (n) => {
      if (n !== 2) return;
      await insertJobs(pool, 'mail', 1);
      await runOnce(depsWith(stillTime()));
    });

    await runDispatcher(depsWith(time), { ...settings, windowMs: 5000 });

    expect(BigInt((await runRow()).run_no) - BigInt(before.run_no)).toBe(1n);
    expect([queues.sent.length, time.sleeps]).toEqual([1, 4]);
  });

  it('leaves upkeep to the runs', async () => {
    await pool.query('delete from millrace.job_events');
    await deploy(db, { jobType: 'mail' });
    await insertJobs(pool, 'mail', 1);
    const unfolded = async () => (await pool.query('select from millrace.job_events')).rowCount;

    await runOnce(depsWith(stillTime()));
    const nudged = await unfolded();
    await runDispatcher(depsWith(stillTime()), { ...settings, mode: 'tick' });

    expect([nudged, await unfolded()]).toEqual([1, 0]);
  });
});

it('sends jobs while upkeep fails, and logs the failure', async () => {
  await deploy(db, { jobType: 'mail' });
  await pool.query(
    `create function public.fail() returns trigger language plpgsql as $$ begin raise 'no space'; end $$`,
  );
  await pool.query('create trigger fail before insert on millrace.job_event_totals execute function public.fail()');
  const time = stillTime(() => insertJobs(pool, 'mail', 1));

  await runDispatcher(depsWith(time), { ...settings, pollIntervalMs: 10_000, windowMs: 35_000 });
  await pool.query('drop trigger fail on millrace.job_event_totals; drop function public.fail()');

  expect(queues.sent).toHaveLength(3);
  expect(log.events('maintain_failed')[0]).toMatchObject({ level: 'error', error: { message: 'no space' } });
});
