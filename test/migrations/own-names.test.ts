import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineHandler } from '../../core/handler/handler.ts';
import { enqueue, enqueueMany, insertJob } from '../../core/jobs/enqueue.ts';
import { createClient } from '../support/database.ts';
import { type Engine, openEngine } from '../support/runtime-engine.ts';

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

/** A twin fails when it is called. */
const PLANT = `
  create schema evil;
  grant usage on schema evil to public;
  create function evil.caught() returns void language plpgsql as $$ begin raise 'a twin was called'; end $$;
  do $plant$
  declare
    twin record;
  begin
    for twin in
      select p.proname, p.proretset, format_type(p.prorettype, null) as result,
             pg_get_function_identity_arguments(p.oid) as arguments
        from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind in ('f', 'a') and p.proname = any($1)
    loop
      begin
        execute format('create function evil.%I(%s) returns %s%s language plpgsql as
          ''begin perform evil.caught(); return%s; end''', twin.proname, twin.arguments,
          case when twin.proretset then 'setof ' else '' end, twin.result,
          case when twin.proretset then '' else ' null' end);
      exception when others then null;
      end;
    end loop;
    for twin in
      select o.oprname, format_type(o.oprleft, null) as left_type, format_type(o.oprright, null) as right_type,
             format_type(o.oprresult, null) as result
        from pg_operator o where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprleft <> 0
          and o.oprname = any(array['=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '%', '||', '->', '->>',
            '?', '?|', '~', '@?', '@>', '#>>'])
    loop
      begin
        execute format('create function evil.apply(a %s, b %s) returns %s language plpgsql as
          ''begin perform evil.caught(); return null; end''', twin.left_type, twin.right_type, twin.result);
      exception when others then null;
      end;
      begin
        execute format('create operator evil.%s (leftarg = %s, rightarg = %s, function = evil.apply)', twin.oprname,
          twin.left_type, twin.right_type);
      exception when others then null;
      end;
    end loop;
    create domain evil.text as integer;
    create domain evil.jsonb as integer;
    create domain evil.timestamptz as integer;
    create domain evil.float8 as integer;
  end $plant$`;

/** Every name in our SQL that is followed by a parenthesis; those that are built in get a twin. */
function calledNames(): string[] {
  const texts = globSync(['migrations/*.sql', 'core/**/*.ts']).map((file) => readFileSync(file, 'utf8'));
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/\b([a-z_]+)\(/g)].map(([, name]) => name ?? '')))];
}

it("jobs are enqueued by SQL and by the library with the engine's names, whatever lies in front of them", async () => {
  const { pool, test } = engine;
  await pool.query(PLANT.replace('$1', `'{${calledNames().join(',')}}'`));
  const planted = await pool.query(`select count(*)::int as n from pg_proc where pronamespace = 'evil'::regnamespace`);
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
  expect(planted.rows[0].n).toBeGreaterThan(100);
  expect(rows).toEqual([{ n: 8, young: true }]);
  expect([answers.rows, failed.rows]).toEqual([[{ cancel: 'cancelled', retry: 'not_dead' }], []]);
});
