import { afterAll, beforeEach, expect, it } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { deploy, insertJobs, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.handlers');
});

const limitOf = async (jobType: string): Promise<number> =>
  (await pool.query('select max_in_flight from millrace.handlers where job_type = $1', [jobType])).rows[0]
    .max_in_flight;

it('doubles the limit of a drained handler with due jobs, and lowers it while the handler does not drain', async () => {
  await deploy(db, { jobType: 'mail', concurrency: 2, batch: { size: 5 }, maxInFlight: 100 });
  await insertJobs(pool, 'mail', 400);
  const finish = (ids: string[]) => pool.query('delete from millrace.jobs_live where id = any($1)', [ids]);
  const limits = [await limitOf('mail')];

  for (let round = 0; round < 4; round++) {
    await finish((await claim(db, 1000)).map(({ id }) => id));
    limits.push(await limitOf('mail'));
  }
  const stuck = (await claim(db, 1000)).map(({ id }) => id);
  for (let round = 0; round < 10; round++) {
    await finish(stuck.splice(0, 1));
    stuck.push(...(await claim(db, 1000)).map(({ id }) => id));
  }
  const lowered = await limitOf('mail');

  expect(limits).toEqual([20, 40, 80, 100, 100]);
  expect(lowered).toBeGreaterThanOrEqual(20);
  expect(lowered).toBeLessThan(100);
});

it('lowers the limit of a handler after a burst, and keeps its row unchanged while nothing is claimed', async () => {
  await deploy(db, { jobType: 'mail', concurrency: 2, batch: { size: 5 }, maxInFlight: 100 });
  await pool.query('update millrace.handlers set max_in_flight = 100');
  const version = async () => (await pool.query('select xmin from millrace.handlers')).rows[0].xmin;
  const limits: number[] = [];

  for (let round = 0; round < 100; round++) {
    await insertJobs(pool, 'mail', 1);
    await claim(db, 1000);
    await pool.query('delete from millrace.jobs_live');
    limits.push(await limitOf('mail'));
  }
  const resting = await version();
  await insertJobs(pool, 'mail', 1);
  await claim(db, 1000);
  const atFloor = await version();
  await pool.query('update millrace.handlers set max_in_flight = 100');
  const raised = await version();
  await pool.query('delete from millrace.jobs_live');
  await claim(db, 1000);

  expect(limits.slice(0, 3)).toEqual([97, 95, 93]);
  expect(limits.at(-1)).toBe(20);
  expect([atFloor, await version()]).toEqual([resting, raised]);
});

it('keeps the limit of a handler whose due jobs exceed the size of the claim', async () => {
  await deploy(db, { jobType: 'mail', concurrency: 2, batch: { size: 5 }, maxInFlight: 100 });
  await pool.query('update millrace.handlers set max_in_flight = 100');
  await insertJobs(pool, 'mail', 60);

  const jobs = await claim(db, 30);

  expect([jobs.length, await limitOf('mail')]).toEqual([30, 100]);
});
