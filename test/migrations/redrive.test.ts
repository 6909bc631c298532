import { expect, it } from 'vitest';
import { createClient } from '../support/database.ts';
import { jobIn } from './job-in.ts';
import { openOperator } from './operator.ts';

const { engine, ask, job, letters, login } = await openOperator();
const { pool } = engine;

const audit = async () =>
  (await pool.query('select actor, action from millrace.audit_log order by id')).rows.map(
    ({ actor, action }) => `${action} by ${actor}`,
  );

it('a redrive by an operator moves the jobs, and every audit entry names the operator', async () => {
  const ids = [await jobIn(engine, 'dead_letter'), await jobIn(engine, 'dead_letter')];

  const operation = await ask(`select millrace.start_redrive('{"job_types": ["mail"]}')`);
  const status = await ask('select status from millrace.step_redrive($1, 100)', operation);
  await ask('select millrace.step_redrive($1, 100)', operation);
  const end = await ask('select s.status from millrace.step_redrive($1, 100) s', operation);

  expect([status, end]).toEqual(['done', 'done']);
  expect(await Promise.all(ids.map(async (id) => (await job(id)).status))).toEqual(['pending', 'pending']);
  expect(await letters()).toMatchObject([
    { status: 'redriven', resolved_by: login.name, resolution: `redrive ${operation} of ${login.name}` },
    { status: 'redriven' },
  ]);
  expect(await audit()).toEqual([
    `redrive_started by ${login.name}`,
    `redrive by ${login.name}`,
    `redrive by ${login.name}`,
  ]);
});

it('an operator can cancel a redrive', async () => {
  await jobIn(engine, 'dead_letter');
  const operation = await ask(`select millrace.start_redrive('{"all": true}', 0.001)`);

  const cancelled = await ask('select millrace.cancel_redrive($1)', operation);
  const again = await ask('select millrace.cancel_redrive($1)', operation);

  expect([cancelled, again]).toEqual([true, false]);
  expect((await letters())[0].status).toBe('open');
});

it('an application has no right to redrive', async () => {
  const client = await createClient(engine.test.url);
  await client.query('set role millrace_app');

  const starting = client.query(`select millrace.start_redrive('{"all": true}')`);

  await expect(starting).rejects.toThrow(/permission denied/);
});
