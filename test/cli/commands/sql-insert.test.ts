import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { createLogin } from '../../support/runtime-engine.ts';
import { runCli } from '../run-cli.ts';

let database: TestDatabase;
let app: Awaited<ReturnType<typeof createLogin>>;
beforeAll(async () => {
  database = await createDatabase();
  app = await createLogin(database, 'millrace_app');
});
afterAll(async () => {
  await database.drop();
  await app.drop();
});

const sql = (text: string, url = database.url) => runCli(['sql', text], { env: { DATABASE_URL: url } });

it.each(['running', 'dispatched', 'succeeded', 'cancelled', 'failed', 'queued'])(
  'sql states what to do about an insert with the status %s',
  async (status) => {
    const { code, stderr } = await sql(`INSERT INTO millrace.jobs (job_type, status) VALUES ('a', '${status}')`);

    expect(code).toBe(1);
    expect(stderr).toContain('hint: a new job is pending: omit status and the columns of attempts\n');
  },
);

it('sql names the columns that an application can set', async () => {
  const { stderr } = await sql(`insert into millrace.jobs (job_type, status) values ('a', 'pending')`, app.url);

  expect(stderr).toContain('permission denied for table jobs; ');
  expect(stderr).toContain(
    'hint: an application can set job_type, routing_key, payload, priority, max_attempts, run_at, start_by, ' +
      'unique_key, group_key, traceparent, on_dead_letter\n',
  );
});

it.each([
  ['another constraint', () => database.url, `insert into millrace.jobs (job_type, priority) values ('a', 10)`],
  ['another table', () => app.url, `insert into millrace.handlers (job_type) values ('a')`],
  ['a read of jobs', () => app.url, 'select payload from millrace.jobs'],
])('sql gives no such hint about %s', async (_what, url, text) => {
  const { code, stderr } = await sql(text, url());

  expect(code).toBeGreaterThan(0);
  expect(stderr).not.toContain('hint: a');
});

it('the columns that sql names are those that the role can insert', async () => {
  const { rows } = await database.pool.query<{ columns: string }>(
    `select string_agg(column_name, ', ' order by column_name) as columns from information_schema.column_privileges
       where grantee = 'millrace_app' and table_schema = 'millrace' and table_name = 'jobs'
         and privilege_type = 'INSERT'`,
  );
  const { stderr } = await sql(`insert into millrace.jobs (job_type, status) values ('a', 'pending')`, app.url);

  const named = /an application can set (.*)\n/.exec(stderr)?.[1]?.split(', ');
  expect(named?.sort().join(', ')).toBe(rows[0]?.columns);
});
