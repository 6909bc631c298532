import { expect, it } from 'vitest';
import { describeFailure } from '../../../core/failure.ts';
import { settle } from '../../../core/jobs/settle.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { recordLog } from '../../support/runtime-engine.ts';

const engine = await openDatabaseEngine();

const succeeded: Outcome = { kind: 'succeeded', result: null };
const dead: Outcome = { kind: 'dead_letter', error: describeFailure(new Error('it broke')) };

/** Makes claimed jobs run under the request `r`, with SQL only. */
async function running(count: number) {
  const { ids } = await engine.deliver(count);
  const found = await engine.sql<{ id: string; claim_no: string }>(
    `update millrace.jobs_live set status = 'running', attempts = 1, started_at = millrace.clock(), request_id = 'r'
       where id = any($1) returning id::text, claim_no::text`,
    [ids],
  );
  return found.map(({ id, claim_no }) => ({ jobId: id, claimNo: claim_no }));
}

it.each([
  ['its open dead letter', dead, 'dead_letter', 'insert into millrace.dead_letters (job_id) values ($1)'],
  ['its request to cancel', succeeded, 'succeeded', 'insert into millrace.cancel_requests (job_id) values ($1)'],
])('settles the other jobs of a batch while another session locks one by %s', async (_what, outcome, status, hold) => {
  const log = recordLog();
  const jobs = await running(3);
  const holder = await createClient(engine.database.url);
  const [table] = /millrace\.\w+/.exec(hold)!;
  await engine.sql(hold, [jobs[1]!.jobId]);
  await holder.query('begin');
  await holder.query(`delete from ${table} where job_id = $1`, [jobs[1]!.jobId]);

  const settled = await settle(
    engine.db,
    jobs.map((job) => ({ ...job, outcome })),
    { requestId: 'r', log },
  );

  await holder.query('rollback');
  const again = await settle(engine.db, [{ ...jobs[1]!, outcome }], { requestId: 'r', log });
  expect(settled.map((one) => one.status)).toEqual([status, null, status]);
  expect(log.events('settle_refused')).toMatchObject([{ job_id: jobs[1]!.jobId, sqlstate: '55P03' }]);
  expect(again).toMatchObject([{ status }]);
});
