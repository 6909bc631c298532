import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { runCli } from '../run-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const sql = (args: readonly string[], input?: string) =>
  runCli(['sql', ...args], { env: { DATABASE_URL: database.url }, ...(input === undefined ? {} : { input }) });

it('prints rows with tabs and no headings, so that one value is one word', async () => {
  const insert = await sql([`insert into millrace.jobs (job_type) values ('a') returning id`]);
  const select = await sql([`select id, status, null as nothing, e'x\\ty' from millrace.jobs`]);

  expect(insert).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\n$/), stderr: '' });
  expect(select).toEqual({ code: 0, stdout: `${insert.stdout.trim()}\tpending\t\tx\\ty\n`, stderr: '' });
});

it('reads standard input, for - and for nothing', async () => {
  const [dash, nothing] = await Promise.all([sql(['-'], 'select 1'), sql([], 'select 2;\n-- no more\n')]);

  expect([dash.stdout, nothing.stdout]).toEqual(['1\n', '2\n']);
});

it('prints one document with an entry a statement, and keeps every digit', async () => {
  const text = `
    create temp table t (n bigint);
    insert into t values (9007199254740993), (2);
    select n, 1 as small, 1 as small, true as yes, 1.10 as exact, '{"n": 9007199254740993}'::jsonb as json, null as no
      from t limit 1;
    select from t where false`;

  const { code, stdout, stderr } = await sql(['--json', text]);

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('"json":{"n":9007199254740993}');
  expect(JSON.parse(stdout)).toMatchObject([
    { command: 'CREATE', rows: [] },
    { command: 'INSERT', row_count: 2, rows: [] },
    { rows: [{ n: '9007199254740993', small: 1, small_2: 1, yes: true, exact: '1.10', no: null }] },
    { command: 'SELECT', row_count: 0, rows: [] },
  ]);
});

describe('CLI-01: sql', () => {
  it('shows the place of a mistake and the hint, with exit code 1', async () => {
    const { code, stdout, stderr } = await sql(['--json', 'select 1;\nselect "😀", statu from millrace.jobs']);
    const hinted = await sql(['select statu from millrace.jobs']);

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const mark = `${' '.repeat('line 2: select '.length)}^`;
    expect(stderr).toContain(
      `error: column "😀" does not exist (42703)\nline 2: select "😀", statu from millrace.jobs\n${mark}\n`,
    );
    expect(hinted.stderr).toContain('hint: Perhaps you meant to reference the column "jobs.status".');
  });

  it('shows the mistake in the name of a table of ours too, and what helps where there is none', async () => {
    const { code, stderr } = await sql(['select * from millrace.queues']);

    expect(code).toBe(1);
    expect(stderr).toContain('error: relation "millrace.queues" does not exist (42P01)\nline 1: select * from');
    expect(stderr).toContain('a database without Millrace is set up by npx millrace migrate');
  });

  it('undoes all statements when one fails', async () => {
    const { code } = await sql(['create table kept (); select 1/0']);

    const { rows } = await database.pool.query(`select to_regclass('kept') as found`);
    expect({ code, found: rows[0].found }).toEqual({ code: 1, found: null });
  });

  it('says that a transaction which nobody ended is undone', async () => {
    const { code, stderr } = await sql(['begin; create table kept ()']);

    expect(code).toBe(0);
    expect(stderr).toContain('the transaction was left open, so it is rolled back');
  });

  it('passes notices on to standard error', async () => {
    const { stdout, stderr } = await sql(['drop table if exists none']);

    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'table "none" does not exist, skipping\n' });
  });

  it('has nothing to say to no statement', async () => {
    expect(await sql(['--json', '-- nothing'.slice(3)], '')).toMatchObject({ code: 1, stdout: '' });
    expect(await sql(['--json', '-'], '-- nothing')).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  });
});
