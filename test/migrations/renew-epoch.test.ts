import { afterAll, beforeEach, expect, it } from 'vitest';
import { claim } from '../../core/jobs/claim.ts';
import { raiseLowestClaims } from '../../core/jobs/rescue.ts';
import { rescue } from '../../core/run/rescue-lost.ts';
import { deploy, insertJobs, openEngine, statuses } from '../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

/** The sequences of a copy by logical replication, or of the data alone, begin again. */
const RESTART = `select setval(format('millrace.%I', sequencename)::regclass, 1, false)
  from pg_sequences where schemaname = 'millrace'`;

beforeEach(async () => {
  await deploy(db, { jobType: 'mail' });
  await pool.query('delete from millrace.jobs_live; delete from millrace.dispatches; delete from millrace.audit_log');
  await pool.query(`select setval('millrace.dispatches_claim_no_seq', 500)`);
  await insertJobs(pool, 'mail', 2);
  await claim(db, 1);
  await pool.query('update millrace.handler_starts set claim_no = 501');
  await pool.query(`select millrace.pause('mail'), millrace.resume('mail')`);
});

it('rescues the jobs that a copy claims whose sequences begin again', async () => {
  await pool.query('delete from millrace.dispatches; delete from millrace.jobs_live where in_flight');
  await pool.query(RESTART);

  await pool.query('select millrace.renew_epoch()');
  await raiseLowestClaims(db);
  const claimed = await claim(db, 10);
  await pool.query(`update millrace.jobs_live set lease_expires_at = now() - interval '1 hour' where in_flight`);

  expect(claimed.map(({ claimNo }) => claimNo)).toEqual(['502']);
  expect(await rescue({ db, random: () => 0 })).toMatchObject({ releases: 1 });
  expect(await statuses(pool)).toEqual({ pending: 1 });
});

it('continues the ids of jobs and of every other table', async () => {
  const before = (await pool.query('select max(id) as job from millrace.jobs')).rows[0];
  await pool.query(RESTART);

  await pool.query('select millrace.renew_epoch()');
  const [id] = await insertJobs(pool, 'mail', 1);
  await pool.query(`select millrace.pause('mail')`);

  expect(Number(id)).toBe(Number(before.job) + 1);
  expect((await pool.query('select action from millrace.audit_log order by id')).rows).toHaveLength(3);
});

it('sets no sequence back that is ahead of its table', async () => {
  await pool.query(`select setval('millrace.dispatches_claim_no_seq', 9000), setval('millrace.job_ids', 9000)`);

  await pool.query('select millrace.renew_epoch()');
  const [id] = await insertJobs(pool, 'mail', 1);
  const [first] = await claim(db, 1);

  expect([id, first?.claimNo]).toEqual(['9001', '9001']);
});
