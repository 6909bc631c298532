import { afterAll, afterEach, expect, it } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { createClient } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { deploy, insertJobs, openEngine, registrationsOf } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());
afterEach(() => pool.query('delete from millrace.jobs_live'));

const AFTER = [{ jobType: 'aaa' }, { jobType: 'fresh' }, { jobType: 'zzz' }];
const INSERT_FRESH = `
  insert into millrace.handlers select (jsonb_populate_record(h, '{"job_type": "fresh"}')).*
    from millrace.handlers h where h.job_type = 'aaa'`;

/** Opens a transaction that runs a statement and stays open, as in a forgotten terminal. */
async function forget(statement: string) {
  const client = await createClient(`${engine.test.url}?application_name=forgotten`);
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  await client.query('begin');
  await client.query(statement);
  return { client, pid: rows[0]!.pid };
}

it.each([
  ['pauses a handler', `select millrace.pause('zzz')`],
  ['locks a handler that is removed', `select from millrace.handlers where job_type = 'removed' for update`],
  ['adds a new handler', INSERT_FRESH],
  ['notes the start of a new handler', `insert into millrace.handler_starts values ('fresh', '', 0)`],
])('a deployment that waits for a session that %s does not stop the other handlers', async (_what, statement) => {
  await deploy(db, { jobType: 'aaa' }, { jobType: 'removed' }, { jobType: 'zzz' });
  await pool.query(`delete from millrace.handler_starts where job_type = 'fresh'`);
  const { client } = await forget(statement);
  const reasons: string[] = [];
  const patience = { waitMs: 100, pauseMs: 500, tries: 1e6 };

  const deploying = registerHandlers(
    { db, stage: 'local', patience, onWaiting: (reason) => reasons.push(reason) },
    registrationsOf(AFTER),
  );
  await eventually(() => expect(reasons.length).toBeGreaterThan(1));
  for (let round = 0; round < 3; round++) {
    const [id] = await insertJobs(pool, 'aaa', 1);
    await eventually(async () => expect((await claim(db, 10)).map((job) => job.id)).toEqual([id]));
  }
  await client.query('rollback');
  await deploying;

  const { rows } = await pool.query('select job_type from millrace.handlers order by 1');
  expect(rows.map((row) => row.job_type)).toEqual(['aaa', 'fresh', 'zzz']);
});

it.each([
  ['pauses a handler', `select millrace.pause('zzz')`],
  ['adds a new handler', INSERT_FRESH],
  ['locks the table', 'lock table millrace.handlers in share mode'],
])('names the session that %s, although it is not the only one in the registry', async (_what, statement) => {
  await deploy(db, { jobType: 'aaa' }, { jobType: 'zzz' });
  const { pid } = await forget(statement);
  // A younger transaction, such as that of the dispatcher, and one that waits for nothing.
  await forget(`select from millrace.handler_starts where job_type = 'aaa' for update`);
  const patience = { waitMs: 20, pauseMs: 1, tries: 3 };
  const reasons: string[] = [];

  const refused = registerHandlers(
    { db, stage: 'local', patience, onWaiting: (reason) => reasons.push(reason) },
    registrationsOf(AFTER),
  );

  await expect(refused).rejects.toMatchObject({
    name: 'RegistryError',
    code: 'MILLRACE_REGISTRY',
    message: expect.stringMatching(
      new RegExp(`^session ${pid} \\(user \\w+, application forgotten\\) .*pg_terminate_backend\\(${pid}\\)`),
    ),
  });
  expect(reasons).toHaveLength(3);
});
