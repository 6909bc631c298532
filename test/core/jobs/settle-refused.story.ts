import { expect, it } from 'vitest';
import { describeFailure } from '../../../core/failure.ts';
import { settle } from '../../../core/jobs/settle.ts';
import type { Outcome, Settled } from '../../../core/outcome.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { recordLog } from '../../support/runtime-engine.ts';

const engine = await openDatabaseEngine();

const succeeded: Outcome = { kind: 'succeeded', result: null };
const dead: Outcome = { kind: 'dead_letter', error: describeFailure(new Error('it broke')) };

const statuses = (settled: Settled[]) => settled.map(({ status }) => status);

/** Makes claimed jobs `running` under the request `r`, with SQL only. */
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
  expect(log.events('settle_refused')).toMatchObject([{ job_ids: jobs[1]!.jobId, sqlstate: '55P03' }]);
  expect(again).toMatchObject([{ status }]);
});

it('stores an outcome without its result if the result cannot be stored, and stores the other outcomes', async () => {
  const jobs = await running(4);
  const ids = jobs.map(({ jobId }) => jobId);
  const log = recordLog();
  const results = ['{"n": 1}', '{"n": 1e999999999}', 'not json', '"a \\u0000"'];

  const settled = await settle(
    engine.db,
    jobs.map((job, n) => ({ ...job, outcome: { kind: 'succeeded', result: results[n]! } })),
    { requestId: 'r', log },
  );

  expect(log.events('settle_refused')).toMatchObject([
    { jobs: 3, job_ids: ids.slice(1).join(' '), sqlstate: '22003 22P02 22P05' },
  ]);
  expect(new Set(statuses(settled))).toEqual(new Set(['succeeded']));
  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.map(({ result }) => result)).toEqual([{ n: 1 }, null, null, null]);
});

it('logs the job whose outcome the database refuses, with the cause, and settles the other jobs', async () => {
  const log = recordLog();
  const jobs = await running(2);
  const ids = jobs.map(({ jobId }) => jobId);
  await engine.sql(`create function public.refuse() returns trigger language plpgsql as $$ begin
    if old.id = ${ids[0]} then raise 'kept by law' using errcode = 'P0007'; end if; return old; end $$`);
  await engine.sql('create trigger refuse before delete on millrace.jobs_live for each row execute function refuse()');

  const settled = await settle(
    engine.db,
    jobs.map((job) => ({ ...job, outcome: succeeded })),
    { requestId: 'r', log },
  );
  await engine.sql('drop trigger refuse on millrace.jobs_live');

  expect(statuses(settled)).toEqual([null, 'succeeded']);
  expect(log.events('settle_refused')).toMatchObject([
    {
      level: 'error',
      event: 'settle_refused',
      ...{ jobs: 1, job_ids: ids[0], sqlstate: 'P0007', error: { message: 'kept by law' } },
    },
  ]);
});

it('logs one event with the ids of the first 100 jobs if the database refuses a batch', async () => {
  const log = recordLog();
  const jobs = await running(120);
  const ids = jobs.map(({ jobId }) => jobId);
  await engine.sql(`create function public.refuse_all() returns trigger language plpgsql as
    $$ begin raise 'could not extend file' using errcode = '53100'; end $$`);
  await engine.sql(
    'create trigger refuse_all before delete on millrace.jobs_live for each row execute function refuse_all()',
  );

  const settled = await settle(
    engine.db,
    jobs.map((job) => ({ ...job, outcome: succeeded })),
    { requestId: 'r', log },
  );
  await engine.sql('drop trigger refuse_all on millrace.jobs_live');

  expect(new Set(statuses(settled))).toEqual(new Set([null]));
  expect(log.events('settle_refused')).toMatchObject([
    { jobs: 120, job_ids: ids.slice(0, 100).join(' '), sqlstate: '53100', error: { message: 'could not extend file' } },
  ]);
});
