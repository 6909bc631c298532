import type pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { createClient } from '../support/database.ts';
import { createLogin, deploy, insertJobs, openEngine } from '../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
const logins = {
  app: await createLogin(engine.test, 'millrace_app'),
  operator: await createLogin(engine.test, 'millrace_operator'),
  runtime: await createLogin(engine.test, 'millrace_runtime'),
};
await deploy(db, { jobType: 'mail' });
const [job, other] = await insertJobs(pool, 'mail', 2);
afterAll(async () => {
  await engine.close();
  for (const login of Object.values(logins)) await login.drop();
});

/** Runs a statement, rolls it back, and returns its SQLSTATE or `ok`. */
async function tryAs(client: pg.Client, sql: string): Promise<string> {
  await client.query('begin');
  try {
    await client.query(sql.replaceAll('$job', job!).replaceAll('$other', other!));
    return 'ok';
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await client.query('rollback');
  }
}

const REFUSED = '42501';

const everybody = ['app', 'operator', 'runtime'] as const;
type Who = (typeof everybody)[number];

const allowed: [string, readonly Who[]][] = [
  [`insert into millrace.jobs (job_type, payload) values ('mail', '{}') returning id`, ['app', 'runtime']],
  [
    `insert into millrace.jobs (job_type, routing_key, payload, priority, max_attempts, run_at, unique_key, group_key,
       traceparent) values ('mail', '', '{}', 1, 2, now(), 'k', 'g', 't')`,
    ['app', 'runtime'],
  ],
  [`insert into millrace.jobs (job_type, status) values ('mail', 'pending')`, ['runtime']],
  [`insert into millrace.jobs (job_type, attempts) values ('mail', 0)`, ['runtime']],
  [`insert into millrace.jobs (job_type, claim_no) values ('mail', 7)`, ['runtime']],
  [`insert into millrace.jobs (job_type, slot) values ('mail', 0)`, ['runtime']],
  [`insert into millrace.jobs (job_type, inserted_by) values ('mail', 'another')`, ['runtime']],
  [`insert into millrace.jobs_live (job_type) values ('mail')`, ['runtime']],
  [`select id from millrace.jobs`, everybody],
  [`select payload from millrace.jobs`, ['operator', 'runtime']],
  [`select inserted_by from millrace.jobs`, ['operator', 'runtime']],
  [`select * from millrace.my_jobs`, ['app', 'runtime']],
  [`update millrace.my_jobs set priority = 0`, []],
  [`delete from millrace.my_jobs`, []],
  [`select * from millrace.jobs_live`, ['operator', 'runtime']],
  [`update millrace.jobs set payload = '{}' where id = $job`, ['runtime']],
  [`select id from millrace.jobs for update`, ['runtime']],
  [`truncate millrace.jobs`, []],
  [`truncate millrace.jobs_finished_01`, []],
  [`select millrace.clock()`, everybody],
  [`select millrace.pause('mail')`, ['operator', 'runtime']],
  [`select millrace.resume('mail')`, ['operator', 'runtime']],
  [`select nextval('millrace.job_ids')`, ['app', 'runtime']],
  [`select setval('millrace.job_ids', 1)`, []],
  [`select * from millrace.enqueue('mail')`, ['app', 'runtime']],
  [`select * from millrace.enqueue_many('[]')`, ['app', 'runtime']],
  [`select millrace.cancel($job)`, everybody],
  [`select millrace.retry($job)`, ['operator', 'runtime']],
  [`select millrace.redrive(array[$job], array[null::bigint], 'x')`, ['runtime']],
  [`select millrace.finish_cancelled(array[$job]::bigint[], 'x')`, ['runtime']],
  [`select millrace.free_key('mail', 'k')`, ['operator', 'runtime']],
  [`select millrace.free_keys(array[$job]::bigint[])`, ['runtime']],
  [`select millrace.prune_slot(3::smallint, '7 days')`, ['runtime']],
  [`select millrace.analyze_jobs()`, ['runtime']],
  [`select millrace.renew_epoch()`, ['runtime']],
  [`select millrace.assign_stage('prod')`, ['runtime']],
  [`update millrace.installation set stage = 'prod'`, []],
  [`select * from millrace.failed_jobs`, ['operator', 'runtime']],
  [`delete from millrace.failed_jobs`, ['operator', 'runtime']],
  [`select * from millrace.handlers`, ['operator', 'runtime']],
  [`update millrace.handlers set paused_at = now()`, ['runtime']],
  [`insert into millrace.job_events values ('enqueued', 'mail', 'pending', 1)`, ['runtime']],
  [`select * from millrace.schedules`, ['operator', 'runtime']],
  [`update millrace.schedules set paused_at = now()`, ['runtime']],
  [`select * from millrace.schedule_ticks`, ['operator', 'runtime']],
  [`select millrace.create_schedule('nightly', 'mail', cron => '0 3 * * *')`, ['app', 'runtime']],
  [`select millrace.delete_schedule('nightly')`, everybody],
  [`select millrace.pause_schedule('nightly')`, ['operator', 'runtime']],
  [`select millrace.resume_schedule('nightly')`, ['operator', 'runtime']],
  [`select millrace.set_schedule_paused('nightly', true)`, []],
  [`select millrace.run_schedule('nightly')`, ['operator', 'runtime']],
  [`select millrace.is_busy('nightly')`, ['runtime']],
  [`select * from millrace.dead_letters`, ['operator', 'runtime']],
  [`delete from millrace.dead_letters`, ['runtime']],
  [`select * from millrace.audit_log`, ['operator', 'runtime']],
  [`select * from millrace.api_keys`, ['runtime']],
  [`select * from millrace.idempotency_keys`, ['runtime']],
  [`insert into millrace.migrations values ('x', 'y')`, []],
  [`create table millrace.mine (id int)`, []],
  [`create function millrace.mine() returns int language sql as 'select 1'`, []],
  [`drop table millrace.jobs`, []],
  [`alter table millrace.jobs add column mine int`, []],
  [`set role millrace_owner`, []],
];

describe.each(everybody)('the role of %s', (who) => {
  it.each(allowed)('%s', async (sql, whom) => {
    const client = await createClient(logins[who].url);

    const outcome = await tryAs(client, sql);

    expect(outcome).toBe(whom.includes(who) ? 'ok' : REFUSED);
  });
});

const FUNCTIONS = `
  select p.oid::regprocedure::text as name, p.prosecdef as definer, coalesce(p.proconfig, '{}') as config,
         pg_get_userbyid(p.proowner) as owner, has_function_privilege('public', p.oid, 'execute') as public
    from pg_proc p where p.pronamespace = 'millrace'::regnamespace order by 1`;

it('the public can execute no function of the schema and not use the schema', async () => {
  const { rows } = await pool.query(FUNCTIONS);
  const { rows: schema } = await pool.query(
    `select has_schema_privilege('public', 'millrace', 'usage') as usage, has_schema_privilege('public', 'millrace', 'create') as make`,
  );

  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter((row) => row.public)).toEqual([]);
  expect(schema).toEqual([{ usage: false, make: false }]);
});

it('an application learns the routing keys of a job type with *, and cannot read the handlers', async () => {
  await deploy(db, { jobType: 'mail' }, { jobType: 'index', routingKey: 'a' }, { jobType: 'index', routingKey: 'b' });
  const app = await createClient(logins.app.url);
  const jobs = JSON.stringify([{ job_type: 'index', routing_key: '*' }]);

  const { rows } = await app.query('select routing_key from millrace.enqueue_many($1)', [jobs]);
  const refused = await tryAs(app, 'select from millrace.handlers');
  await app.end();

  expect(rows.map((row) => row.routing_key)).toEqual(['a', 'b']);
  expect(refused).toBe(REFUSED);
});

it('every function that runs with its owner’s rights pins the search path', async () => {
  const { rows } = await pool.query(FUNCTIONS);
  const definers = rows.filter((row) => row.definer);

  expect(definers.length).toBeGreaterThan(8);
  expect(definers.filter((row) => !row.config.includes('search_path=pg_catalog, pg_temp'))).toEqual([]);
});

it('one owner without a login owns every object', async () => {
  const { rows } = await pool.query(`
    select 'function' as kind, proname::text as name from pg_proc
      where pronamespace = 'millrace'::regnamespace and proowner <> 'millrace_owner'::regrole
    union all select 'relation', relname from pg_class
      where relnamespace = 'millrace'::regnamespace and relowner <> 'millrace_owner'::regrole`);
  const { rows: roles } = await pool.query(
    `select rolname from pg_roles where rolname like 'millrace\\_%' and (rolcanlogin or rolsuper or rolcreaterole)`,
  );

  expect([rows, roles]).toEqual([[], []]);
});

it('a search path cannot redirect a function to other objects', async () => {
  const app = await createClient(logins.app.url);
  await app.query(`create temp table jobs_live (id bigint); create temp table handlers (max_attempts int);
    create function pg_temp.clock() returns timestamptz language sql as $$ select '2001-01-01'::timestamptz $$;
    set search_path = pg_temp, millrace, pg_catalog`);

  await app.query(`select * from millrace.enqueue('mail', unique_key => 'path')`);

  const { rows } = await pool.query(`select max_attempts from millrace.jobs_live where unique_key = 'path'`);
  expect(rows).toEqual([{ max_attempts: 5 }]);
});
