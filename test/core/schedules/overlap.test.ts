import { describe, expect, it } from 'vitest';
import type { Overlap } from '../../../core/handler/schedule.ts';
import { openScheduleWorld } from './schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db } = world;

const roundAt = async (time: string) => {
  await world.setClock(`2027-01-01T${time}Z`);
  return world.round();
};
const declare = (overlap: Overlap) => world.declare({ hourly: { cron: '0 * * * *', overlap, catchUp: 'all(5)' } });
const setStatus = (set: string) => pool.query(`update millrace.jobs_live set ${set}`);

const UNFINISHED = {
  pending: `status = 'pending'`,
  dispatched: `status = 'dispatched', claim_no = 1, lease_expires_at = now()`,
  running: `status = 'running', claim_no = 1, lease_expires_at = now(), started_at = now()`,
  failed: `status = 'failed', next_retry_at = now()`,
};

describe.each(Object.entries(UNFINISHED))('while the job of the last tick is %s', (_status, set) => {
  it.each([
    ['allow', 1, 'enqueued'],
    ['skip', 0, 'overlapped'],
    ['queue-one', 0, 'queued'],
  ] as [Overlap, number, string][])('a schedule with the overlap %s enqueues %d', async (overlap, jobs, result) => {
    await declare(overlap);
    await roundAt('01:00:00');
    await setStatus(set);

    const enqueued = await roundAt('02:00:00');

    expect(enqueued).toBe(jobs);
    expect(await world.ticks()).toEqual(['2027-01-01T01:00 enqueued', `2027-01-01T02:00 ${result}`]);
  });
});

it.each(['skip', 'queue-one'] as const)(
  'a dead letter does not stop a schedule with the overlap %s',
  async (overlap) => {
    await declare(overlap);
    await roundAt('01:00:00');
    await setStatus(`status = 'dead_letter', claim_no = 1, attempts = 1`);

    expect(await roundAt('02:00:00')).toBe(1);
  },
);

describe('a schedule with the overlap queue-one', () => {
  it('enqueues the queued tick when its last job has finished, and skips the ticks between', async () => {
    await declare('queue-one');
    for (const hour of ['01', '02', '03']) await roundAt(`${hour}:00:00`);
    const before = await world.runTimes();
    await world.finishJobs();

    const rounds = [await roundAt('03:10:00'), await roundAt('03:11:00')];

    expect(before).toEqual(['01-01T01:00']);
    expect(rounds).toEqual([1, 0]);
    expect(await world.runTimes()).toEqual(['01-01T02:00']);
    expect(await world.ticks()).toEqual([
      '2027-01-01T01:00 enqueued',
      '2027-01-01T02:00 enqueued',
      '2027-01-01T03:00 overlapped',
    ]);
  });

  it('enqueues a queued tick once with two dispatchers', async () => {
    await declare('queue-one');
    await roundAt('01:00:00');
    await roundAt('02:00:00');
    await world.finishJobs();

    const rounds = await Promise.all([world.round(), world.round(), world.round()]);

    expect(rounds.toSorted()).toEqual([0, 0, 1]);
  });

  it('enqueues and queues the first two of several ticks that it catches up', async () => {
    await declare('queue-one');

    await roundAt('04:30:00');

    expect(await world.ticks()).toEqual([
      '2027-01-01T01:00 enqueued',
      '2027-01-01T02:00 queued',
      '2027-01-01T03:00 overlapped',
      '2027-01-01T04:00 overlapped',
    ]);
  });

  it('enqueues the queued ticks of many schedules in turns, also of those with large payloads', async () => {
    await pool.query(`insert into millrace.schedules (name, job_type, every_seconds, overlap, queued_tick_at, payload)
      select 'tenant-' || lpad(n::text, 2, '0'), 'report', 3600, 'queue-one', '2027-01-01T00:00:00Z',
             jsonb_build_object('text', repeat('text ', 192000))
        from generate_series(1, 20) n`);
    let statements = 0;
    const limited: typeof db.limited = (limits) => {
      statements += 1;
      return db.limited(limits);
    };
    await world.setClock('2027-01-01T00:00:01Z');
    const rounds: number[] = [];
    for (let n = 1; n <= 4; n++) {
      rounds.push(await world.round({ db: { ...db, limited }, now: () => statements * 500 }));
    }

    expect(rounds).toEqual([8, 8, 4, 0]);
  });

  it('enqueues a tick that was queued for so long that the upkeep has deleted its row, once', async () => {
    await declare('queue-one');
    await roundAt('01:00:00');
    await roundAt('02:00:00');
    await pool.query(`delete from millrace.schedule_ticks where result = 'queued'`);
    await world.finishJobs();

    const rounds = [await roundAt('02:30:00'), await roundAt('02:31:00')];

    expect(rounds).toEqual([1, 0]);
    expect(await world.runTimes()).toEqual(['01-01T02:00']);
  });

  it('forgets the queued tick when it is paused', async () => {
    await declare('queue-one');
    await roundAt('01:00:00');
    await roundAt('02:00:00');
    await pool.query(`select millrace.pause_schedule('hourly'), millrace.resume_schedule('hourly')`);
    await world.finishJobs();

    expect(await roundAt('02:30:00')).toBe(0);
  });
});

it('a job that a person runs counts as the last job', async () => {
  await declare('skip');
  await world.setClock('2027-01-01T00:30:00Z');
  await pool.query(`select millrace.run_schedule('hourly')`);

  expect(await roundAt('01:00:00')).toBe(0);
});
