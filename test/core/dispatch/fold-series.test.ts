import { beforeEach, expect, it } from 'vitest';
import { foldEvents, foldTimings } from '../../../core/dispatch/fold-events.ts';
import { deploy, insertJobs } from '../../support/runtime-engine.ts';
import { openMaintainWorld } from './maintain-world.ts';

const { pool, db } = await openMaintainWorld();
const setClock = (time: string) =>
  pool.query(`create or replace function millrace.clock() returns timestamptz language sql stable parallel safe
    as $$ select timestamptz '${time}' $$`);
beforeEach(async () => {
  await setClock('2026-03-01 10:20:30+00');
  await pool.query('delete from millrace.job_numbers; delete from millrace.job_timings');
  await deploy(db, { jobType: 'mail' }, { jobType: 'index' });
});

const rowsOf = async (step: string) =>
  (
    await pool.query(
      `select job_type, enqueued::int, succeeded::int, wait_counts::int[], run_counts::int[]
         from millrace.job_numbers where step = $1 order by at, job_type`,
      [step],
    )
  ).rows;

it('adds events and timings to the minute and the hour of the fold', async () => {
  await insertJobs(pool, 'mail', 3);
  await insertJobs(pool, 'typo', 1);
  await pool.query(`insert into millrace.job_timings values
    ('mail', 'succeeded', 2, 0, 5, 1, 1), ('mail', 'failed', 0, 4, 1, 1, 1), ('index', 'failed', 1, 0, 2, 1, 1)`);

  await foldEvents(db);
  await foldTimings(db);
  await insertJobs(pool, 'mail', 1);
  await pool.query(`insert into millrace.job_timings values ('mail', 'succeeded', 3, 1, 7, 1, 1)`);
  await foldEvents(db);
  await foldTimings(db);

  const expected = [
    { job_type: '_all', enqueued: 5, succeeded: null, wait_counts: [1, 2, 5, 7], run_counts: [7, 7, 0, 0, 1] },
    { job_type: '_other', enqueued: 1, succeeded: null, wait_counts: null, run_counts: null },
    { job_type: 'index', enqueued: null, succeeded: null, wait_counts: [0, 2], run_counts: [2] },
    { job_type: 'mail', enqueued: 4, succeeded: null, wait_counts: [1, 0, 5, 7], run_counts: [5, 7, 0, 0, 1] },
  ];
  expect(await rowsOf('hour')).toEqual(expected);
  expect(await rowsOf('minute')).toEqual(expected);
});

it('writes nothing without events', async () => {
  await foldEvents(db);
  await foldTimings(db);

  expect((await pool.query('select * from millrace.job_numbers')).rows).toEqual([]);
});

it('begins another row in the next minute', async () => {
  for (const time of ['10:20:59', '10:21:00']) {
    await setClock(`2026-03-01 ${time}+00`);
    await insertJobs(pool, 'mail', 1);
    await foldEvents(db);
  }

  expect((await rowsOf('minute')).map(({ enqueued }) => enqueued)).toEqual([1, 1, 1, 1]);
});
