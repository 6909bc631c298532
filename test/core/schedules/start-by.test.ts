import { expect, it } from 'vitest';
import { skipLate } from '../../../core/jobs/skip-late.ts';
import { stillTime } from '../../support/still-time.ts';
import { openScheduleWorld } from './schedule-world.ts';

const world = await openScheduleWorld();
const { pool, db, log } = world;

const starts = async () =>
  (
    await pool.query(`select t.schedule, t.result, extract(epoch from j.start_by - j.run_at)::float8 as seconds
      from millrace.jobs j join millrace.schedule_ticks t on t.job_id = j.id order by 1, 2`)
  ).rows;

it('bounds the start of a job by its run time, also that of a queued tick and of a run by hand', async () => {
  const options = { cron: '0 3 * * *', startBy: '2h' };
  await world.declare({
    ...{ plain: options, spread: { ...options, spread: '1h' }, queued: { ...options, overlap: 'queue-one' } },
    unbounded: { cron: '0 3 * * *' },
  });
  for (const day of ['01', '02']) {
    await world.setClock(`2027-01-${day}T03:00:00Z`);
    await world.round();
  }
  await world.finishJobs();
  await world.setClock('2027-01-02T03:01:00Z');
  await world.round();
  await pool.query(`select millrace.run_schedule('plain')`);

  expect(await starts()).toEqual([
    { schedule: 'plain', result: 'manual', seconds: 7200 },
    { schedule: 'queued', result: 'enqueued', seconds: 7200 },
  ]);
});

it('bounds the jobs of ticks alike', async () => {
  const options = { cron: '0 3 * * *', startBy: '2h' };
  await world.declare({ plain: options, spread: { ...options, spread: '1h' }, unbounded: { cron: '0 3 * * *' } });
  await world.setClock('2027-01-01T03:00:00Z');
  await world.round();

  expect(await starts()).toEqual([
    { schedule: 'plain', result: 'enqueued', seconds: 7200 },
    { schedule: 'spread', result: 'enqueued', seconds: 7200 },
    { schedule: 'unbounded', result: 'enqueued', seconds: null },
  ]);
});

it('skips a job that was made up for too late, and not one in time', async () => {
  await world.declare({ hourly: { cron: '0 * * * *', startBy: '90m', catchUp: 'all(3)' } });
  await world.setClock('2026-12-31T23:30:00Z');
  await world.round();
  await world.setClock('2027-01-01T02:45:00Z');
  await world.round();

  await skipLate({ db, log, time: stillTime() });

  const { rows } = await pool.query(`select to_char(run_at at time zone 'UTC', 'HH24:MI') as run, status
    from millrace.jobs order by run_at`);
  expect(rows).toEqual([
    { run: '00:00', status: 'skipped' },
    { run: '01:00', status: 'skipped' },
    { run: '02:00', status: 'pending' },
  ]);
});

it.each(['0s', '366d', '1.5s', -1, 'soon'])('is refused by name: %s', async (startBy) => {
  await expect(world.declare({ nightly: { cron: '0 3 * * *', startBy } })).rejects.toThrow(/startBy: /);
});
