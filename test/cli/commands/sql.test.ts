import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, createDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { runCli } from '../run-cli.ts';
import { startCli } from '../start-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const sql = (args: readonly string[], input?: string) =>
  runCli(['sql', ...args], { env: { DATABASE_URL: database.url }, ...(input === undefined ? {} : { input }) });

it('sql prints rows to a pipe tab-separated and without headings', async () => {
  const insert = await sql([`insert into millrace.jobs (job_type) values ('a') returning id`]);
  const select = await sql([`select id, status, null as nothing, e'x\\ty' from millrace.jobs`]);

  expect(insert).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\n$/), stderr: '' });
  expect(select).toEqual({ code: 0, stdout: `${insert.stdout.trim()}\tpending\t\tx\\ty\n`, stderr: '' });
});

it('sql reads standard input for - and without an argument', async () => {
  const [dash, nothing] = await Promise.all([sql(['-'], 'select 1'), sql([], 'select 2;\n-- no more\n')]);

  expect([dash.stdout, nothing.stdout]).toEqual(['1\n', '2\n']);
});

it('sql --json prints one document with an entry per statement, and keeps every digit', async () => {
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
  it('prints the position of a mistake and the hint, with exit code 1', async () => {
    const { code, stdout, stderr } = await sql(['--json', 'select 1;\nselect "😀", statu from millrace.jobs']);
    const hinted = await sql(['select statu from millrace.jobs']);

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const mark = `${' '.repeat('line 2: select '.length)}^`;
    expect(stderr).toContain(
      `error: column "😀" does not exist (42703)\n  line 2: select "😀", statu from millrace.jobs\n  ${mark}\n`,
    );
    expect(hinted.stderr).toContain('hint: Perhaps you meant to reference the column "jobs.status".');
  });

  it('reports an unknown table of Millrace', async () => {
    const { code, stderr } = await sql(['select * from millrace.queues']);

    expect(code).toBe(1);
    expect(stderr).toContain('error: relation "millrace.queues" does not exist (42P01)\n  line 1: select * from');
    expect(stderr).not.toContain('migrate');
  });

  it.each(['select * from millrace.jobs', `select millrace.enqueue('a')`])(
    'reports a database without the schema, and how to migrate: %s',
    async (text) => {
      const empty = await createDatabase();
      await empty.pool.query('drop schema millrace cascade');

      const { code, stderr } = await runCli(['sql', text], { env: { DATABASE_URL: empty.url } });
      await empty.drop();

      expect(code).toBe(1);
      expect(stderr).toContain('the database has no Millrace schema: run npx millrace migrate');
    },
  );

  it('rolls back all statements when one fails', async () => {
    const { code } = await sql(['create table kept (); select 1/0']);

    const { rows } = await database.pool.query(`select to_regclass('kept') as found`);
    expect({ code, found: rows[0].found }).toEqual({ code: 1, found: null });
  });

  it('reports that it rolls back an open transaction', async () => {
    const { code, stderr } = await sql(['begin; create table kept ()']);

    expect(code).toBe(0);
    expect(stderr).toContain('the transaction was left open and is rolled back');
  });

  it('prints notices to standard error', async () => {
    const { stdout, stderr } = await sql(['drop table if exists none']);

    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'table "none" does not exist, skipping\n' });
  });

  it('prints an empty list for a comment without a statement', async () => {
    expect(await sql(['--json', '-- nothing'.slice(3)], '')).toMatchObject({ code: 1, stdout: '' });
    expect(await sql(['--json', '-'], '-- nothing')).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  });
});

describe('sql at Ctrl-C', () => {
  /** Runs statements, and interrupts them while one of them waits for the lock of a row. */
  async function interrupt(text: string) {
    const holder = await createClient(database.url);
    await holder.query('begin; lock table notes');
    const { process: child, ended } = startCli(['sql', text], { env: { DATABASE_URL: database.url } });
    await eventually(async () => {
      const { rows } = await database.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rows).toHaveLength(1);
    });
    child.kill('SIGINT');
    const result = await ended;
    await holder.query('rollback');
    return result;
  }

  const notes = async () =>
    (await database.pool.query('select text from notes order by 1')).rows.map(({ text }) => text);

  beforeAll(async () => {
    await database.pool.query(`create table notes (text text); insert into notes values ('old')`);
  });

  it.each([
    ['one statement', `update notes set text = 'new'`],
    ['a later statement', `create temp table t (); update notes set text = 'new'; insert into notes values ('more')`],
    ['a transaction in the text', `begin; update notes set text = 'new'; commit; insert into notes values ('more')`],
  ])('cancels %s on the server and changes nothing', async (_what, text) => {
    const { code, stdout, stderr } = await interrupt(text);

    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toContain('the statement was canceled, and its transaction was rolled back');
    expect(await notes()).toEqual(['old']);
  });
});

it.each<[string[], string | undefined, string]>([
  [['nofile.sql'], undefined, 'npx millrace sql < nofile.sql'],
  [['reports/last.SQL'], undefined, 'npx millrace sql < reports/last.SQL'],
  [[''], undefined, 'expected a statement'],
  [[' \n'], undefined, 'expected a statement'],
  [[], '', 'standard input is empty'],
  [['-'], '\n', 'standard input is empty'],
])('sql refuses what is not a statement: %j', async (args, input, sentence) => {
  const { code, stdout, stderr } = await sql(args, input);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(sentence);
});

it.each([
  ['select millrace.enqueue(1, 2, 3)'],
  ['select * from millrace.job'],
  ['select millrace.enqueu()'],
  ['select j.statu from millrace.jobs j'],
])('sql does not ask for a migration when only a name is wrong: %s', async (text) => {
  const { code, stderr } = await sql([text]);

  expect(code).toBe(1);
  expect(stderr).not.toContain('migrate');
});
