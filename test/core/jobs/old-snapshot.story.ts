import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { storeRound } from '../../../core/dispatch/dispatcher-run.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { findExpiredAttempts, raiseLowestClaims, releaseExpiredDispatched } from '../../../core/jobs/rescue.ts';
import { settle } from '../../../core/jobs/settle.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { pagesOf, stopAutovacuum } from '../../support/plans.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

// While an old transaction keeps vacuum from removing rows, the index of jobs in flight keeps an entry of each job that
// was in flight since then. A search that reads them all takes longer from round to round, until the server ends it.
const engine = await openEngine();
const { pool, db, test } = engine;

const STEPS: Record<string, (watched: Database) => Promise<unknown>> = {
  'the search for lost attempts': (watched) => findExpiredAttempts(watched, 1000),
  'the search for lost messages': (watched) => releaseExpiredDispatched(watched, 1000),
  'the end of a round': (watched) => storeRound(watched, false),
  'the count of jobs in flight by a new dispatcher': (watched) => claim(watched, 1000),
};

const pin = new pg.Client({ connectionString: test.url });
beforeAll(async () => {
  await stopAutovacuum(pool);
  await deploy(db, { jobType: 'mail' }, { jobType: 'report' });
  await pin.connect();
  await pin.query('begin isolation level repeatable read; select 1 from millrace.jobs_live');
  const insert = (jobType: string, claimNo: number, count: number) =>
    pool.query(
      `insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, started_at, lease_expires_at)
         select $1, 'running', 1, 5, $2, now(), now() + interval '1 day' from generate_series(1, $3::integer)`,
      [jobType, claimNo, count],
    );
  await insert('mail', 7, 20_000);
  await insert('report', 8, 20_000);
  await pool.query('delete from millrace.jobs_live');
  await insert('report', 9, 1);
  await pool.query(`update millrace.handler_starts set claim_no = case job_type when 'mail' then 8 else 9 end;
    update millrace.dispatcher_runs set last_job_id = (select last_value from millrace.job_ids)`);
});
afterAll(() => pin.end().then(() => engine.close()));

it.each(Object.entries(STEPS))('%s does not read the entries of earlier jobs again', async (_what, step) => {
  await pool.query('update millrace.handler_starts set lowest_claim = 0');
  const before = await pagesOf({ url: test.url }, step);
  await raiseLowestClaims(db);
  await raiseLowestClaims(db);

  const after = await pagesOf({ url: test.url }, step);

  expect(before).toBeGreaterThan(1000);
  expect(after).toBeLessThan(200);
});

/** Returns the pages that a settle of one job reads in a new session. */
async function pagesOfSettle(): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(`
    insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, started_at, lease_expires_at,
        request_id)
      values ('mail', 'running', 1, 5, 7, now(), now() + interval '1 day', 'r') returning id`);
  const settlement = { jobId: rows[0]?.id ?? '', claimNo: '7', outcome: { kind: 'succeeded', result: null } } as const;
  return pagesOf({ url: test.url }, (watched) => settle(watched, [settlement], { requestId: 'r' }));
}

it('a settle does not read the requests to cancel of earlier jobs', async () => {
  await pagesOfSettle();
  const before = await pagesOfSettle();
  await pool.query('insert into millrace.cancel_requests (job_id) select -n from generate_series(1, 50000) n');
  await pool.query('delete from millrace.cancel_requests');

  const after = await pagesOfSettle();

  expect(after).toBeLessThan(before + 100);
});

it('finds a lost attempt of each handler from its lowest claim on, also of one that was removed', async () => {
  await raiseLowestClaims(db);
  await deploy(db, { jobType: 'mail' });
  await pool.query(`update millrace.jobs_live set lease_expires_at = now() - interval '1 minute'`);

  const found = await findExpiredAttempts(db, 10);

  expect(found).toMatchObject([{ jobType: 'report', claimNo: '9', retryPolicy: null }]);
});
