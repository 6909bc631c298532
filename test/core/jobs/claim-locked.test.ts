import { afterAll, beforeEach, expect, it } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { createClient } from '../../support/database.ts';
import { deploy, insertJobs, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.handlers');
});

it('claims other jobs when a row is locked', async () => {
  await deploy(db, { jobType: 'mail' });
  const ids = await insertJobs(pool, 'mail', 3);
  const other = await createClient(engine.test.url);
  await other.query('begin');
  await other.query('select from millrace.jobs_live where id = $1 for update', [ids[0]]);

  const jobs = await claim(db, 10);
  await other.query('rollback');
  const rest = await claim(db, 10);

  expect(jobs.map(({ id }) => id)).toEqual(ids.slice(1));
  expect(rest.map(({ id }) => id)).toEqual([ids[0]]);
});

it('claims the jobs behind those that an open transaction has cancelled, in every priority', async () => {
  await deploy(db, { jobType: 'mail', maxInFlight: 10 }, { jobType: 'other', maxInFlight: 10 });
  const ids = await insertJobs(pool, 'mail', 100);
  const others = await insertJobs(pool, 'other', 5);
  await pool.query('update millrace.jobs_live set priority = id % 3 where job_type = $1', ['mail']);
  const order = ids.toSorted((x, y) => (Number(x) % 3) - (Number(y) % 3) || Number(x) - Number(y));
  const other = await createClient(engine.test.url);
  await other.query('begin');
  await other.query('select millrace.cancel(id) from unnest($1::bigint[]) as id', [order.slice(0, 40)]);

  const jobs = await claim(db, 100);
  const full = await claim(db, 100);
  await other.query('rollback');

  expect(jobs.map(({ id }) => id)).toEqual([...order.slice(40, 50), ...others]);
  expect(full).toEqual([]);
});

it('claims in order of priority across handlers behind locked rows too', async () => {
  await deploy(db, { jobType: 'a' }, { jobType: 'b' });
  const mine = await insertJobs(pool, 'a', 4);
  const theirs = await insertJobs(pool, 'b', 4);
  await pool.query(`update millrace.jobs_live set priority = 4 where job_type = 'b'`);
  const other = await createClient(engine.test.url);
  await other.query('begin');
  await other.query('select from millrace.jobs_live where id = $1 for update', [theirs[0]]);

  const jobs = await claim(db, 5);

  expect(jobs.map(({ id }) => id)).toEqual([...theirs.slice(1), ...mine.slice(0, 2)]);
});

it('claims jobs of other handlers when the row of a handler is locked', async () => {
  await deploy(db, { jobType: 'a' }, { jobType: 'b' });
  await insertJobs(pool, 'a', 1);
  const [free] = await insertJobs(pool, 'b', 1);
  const other = await createClient(engine.test.url);
  await other.query('begin');
  await other.query(`select from millrace.handlers where job_type = 'a' for update`);

  const jobs = await claim(db, 10);

  expect(jobs.map(({ id }) => id)).toEqual([free]);
});
