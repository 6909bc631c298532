import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { enqueue, enqueueMany } from '../../core/enqueue/enqueue.ts';
import { insertJob } from '../../core/enqueue/insert-jobs.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { createClient } from '../support/database.ts';
import { type Engine, openEngine } from '../support/runtime-engine.ts';
import { plantTwins } from './twins.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

const FUNCTIONS = `
  select p.oid::regprocedure::text as name,
         p.prosqlbody is not null or 'search_path=pg_catalog, pg_temp' = any(coalesce(p.proconfig, '{}')) as own
    from pg_proc p where p.pronamespace = 'millrace'::regnamespace order by 1`;

it('every function resolves its names itself: when it is created, or by a search path of its own', async () => {
  const { rows } = await engine.pool.query<{ name: string; own: boolean }>(FUNCTIONS);

  // The clock of tests replaces the one function that they may.
  const others = rows.filter(({ name }) => name !== 'millrace.clock()');
  expect(others.length).toBeGreaterThan(25);
  expect(others.filter(({ own }) => !own)).toEqual([]);
  const clock = readFileSync('migrations/0001_foundation.sql', 'utf8');
  expect(clock).toContain('language sql stable parallel safe\n  return statement_timestamp();');
});

it("SQL and the library enqueue jobs with the engine's names, whatever other schemas contain", async () => {
  const { pool, test } = engine;
  const planted = await plantTwins(pool);
  const client = await createClient(test.url);
  await client.query(`set search_path = evil, pg_catalog, public`);
  const handler = defineHandler({
    jobType: 'mail',
    payload: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
    run: async () => undefined,
  });

  // A name without its schema finds a twin.
  await expect(client.query(`select pg_catalog.now() + interval '1 s'`)).rejects.toThrow('a twin was called');
  await client.query(`insert into millrace.jobs (job_type, unique_key) values ('mail', 'a')`);
  await client.query(`select id from millrace.enqueue('mail', unique_key => 'b')`);
  await client.query(`select id from millrace.enqueue_many('[{"job_type": "mail"}, {"job_type": "mail"}]')`);
  const first = await enqueue(client, handler, { to: 'ada' }, { delay: '5m', uniqueKey: 'c' });
  await enqueueMany(client, [
    { handler, payload: 1, delay: '1h' },
    { handler, payload: 2 },
  ]);
  await insertJob(client, { jobType: 'mail', routingKey: '', payload: '{}' });
  const answers = await client.query(`select millrace.cancel($1), millrace.retry($1)`, [first.id]);
  const failed = await client.query(`select id from millrace.failed_jobs`);
  const redrive = await client.query(`select millrace.start_redrive('{"all": true}') as id`);
  await client.query('select millrace.step_redrive($1, 10)', [redrive.rows[0].id]);
  await client.query(`select millrace.pause('mail'), millrace.resume('mail')`);

  const { rows } = await pool.query(`select count(*)::int as n,
      bool_and(created_at between now() - interval '1 minute' and now() + interval '1 minute') as young
    from millrace.jobs`);
  expect(planted).toBeGreaterThan(100);
  expect(rows).toEqual([{ n: 8, young: true }]);
  expect([answers.rows, failed.rows]).toEqual([[{ cancel: 'cancelled', retry: 'not_dead' }], []]);
});
