import { afterAll, expect, it } from 'vitest';
import type { Metrics } from '../../../core/numbers/emf.ts';
import { readTypeCounts } from '../../../core/numbers/live-counts.ts';
import { systemTime } from '../../../core/time.ts';
import { runUpkeep } from '../../../core/upkeep/run-upkeep.ts';
import { doUpkeep, upkeepSteps } from '../../../core/upkeep/upkeep.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine({ connections: 4 });
const { pool, db, log } = engine;
afterAll(() => engine.close());

const DAY = 86_400;
const deps = { db, log, time: systemTime };

it('counts unfinished jobs in parts, and replaces and publishes the counts at the end of a pass', async () => {
  await deploy(db, { jobType: 'mail' });
  await pool.query(`insert into millrace.jobs (job_type, run_at)
    select case when n % 2 = 0 then 'mail' else 'typo_x' end,
           now() + case when n % 4 < 2 then interval '-1 hour' else interval '1 hour' end
      from generate_series(1, 250000) n`);
  await pool.query(`insert into millrace.job_counts (status, job_type, count) values ('pending', 'gone', 7)`);
  const steps = upkeepSteps(7 * DAY).filter(({ name }) => name === 'count_jobs');
  const published: unknown[] = [];
  const metrics: Metrics = { put: (values, jobType) => void published.push([values, jobType]) };
  let now = 0;
  await runUpkeep({ ...deps, time: { ...systemTime, now: () => now++ } }, steps, 1);
  const during = await readTypeCounts(db);

  await doUpkeep({ ...deps, metrics }, steps, Number.POSITIVE_INFINITY);

  expect(during.counts).toMatchObject([{ jobType: 'gone', count: 7 }]);
  expect((await readTypeCounts(db)).counts).toMatchObject([
    { status: 'pending', jobType: 'mail', count: 125_000 },
    { status: 'pending', jobType: 'typo_x', count: 125_000 },
  ]);
  expect(published).toEqual([
    [{ FailingJobTypes: 0 }, undefined],
    [{ DueJobs: 62_500 }, 'mail'],
  ]);
});
