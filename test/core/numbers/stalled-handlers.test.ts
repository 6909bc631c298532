import { afterAll, expect, it } from 'vitest';
import { maintain } from '../../../core/dispatch/maintain.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { findStalled } from '../../../core/numbers/stalled-handlers.ts';
import { deploy, insertJobs, markRunning, openEngine, shiftClock } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
afterAll(() => engine.close());

async function begin(...jobTypes: string[]): Promise<void> {
  await pool.query('delete from millrace.jobs_live');
  await shiftClock(pool, 0);
  await deploy(db, ...jobTypes.map((jobType) => ({ jobType, concurrency: 2, batch: { size: 1 } })));
}
const namesOf = async () => (await findStalled(db)).map(({ jobType, sent }) => [jobType, sent]);

it('a handler is stalled when its messages wait and none of its jobs runs', async () => {
  await begin('idle', 'mail');
  await insertJobs(pool, 'mail', 3);
  const [first] = await claim(db, 10);
  await shiftClock(pool, 100);
  const early = await namesOf();
  await shiftClock(pool, 200);

  const late = await namesOf();
  await markRunning(pool, [first!.id]);

  expect(early).toEqual([]);
  expect(late).toEqual([['mail', true]]);
  expect(await namesOf()).toEqual([]);
});

it('a handler is stalled when its due jobs are not sent, unless it is paused or has jobs in flight', async () => {
  await begin('mail', 'full', 'paused');
  for (const jobType of ['mail', 'full', 'paused']) await insertJobs(pool, jobType, 2);
  await pool.query(`select millrace.set_paused('paused', '', true)`);
  await pool.query(`update millrace.jobs_live set status = 'dispatched', claim_no = 1, dispatched_at = now(),
    lease_expires_at = now() where id = (select min(id) from millrace.jobs_live where job_type = 'full')`);
  await pool.query(`update millrace.handler_starts set claim_no = 1 where job_type = 'full'`);
  await shiftClock(pool, 290);
  const early = await namesOf();
  await shiftClock(pool, 310);

  const late = await namesOf();

  expect(early).toEqual([]);
  expect(late).toEqual([['mail', false]]);
});

it('the dispatcher publishes how many handlers are stalled, and names the one that has waited longest', async () => {
  await begin('mail', 'report');
  await insertJobs(pool, 'report', 500);
  await insertJobs(pool, 'mail', 1);
  await shiftClock(pool, 301);
  const published: unknown[] = [];
  const reported = new Set<string>();

  for (let run = 0; run < 2; run++) {
    await maintain({ db, log, reported, metrics: { put: (values) => published.push(values) } });
  }

  expect(published).toContainEqual(expect.objectContaining({ StalledHandlers: 2 }));
  expect(log.events('handlers_stalled')).toMatchObject([
    {
      ...{ job_type: 'report', queue: 'report' },
      reason: expect.stringMatching(/^report: its jobs have been due for 13 min, .*; 1 more handlers are stalled$/),
    },
  ]);
});
