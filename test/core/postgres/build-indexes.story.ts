import { spawn } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../core/postgres/migrate.ts';
import { createClient, createDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { createLogin, recordLog } from '../../support/runtime-engine.ts';
import { folderWith } from './migrations-folder.ts';

const ROOT = new URL('../../../', import.meta.url).href;
const log = recordLog();

const ONLINE = `-- outside a transaction
-- Finds jobs by their group; not on the finished ones.
create index concurrently if not exists jobs_live_group on millrace.jobs_live (group_key);
create index concurrently if not exists jobs_live_trace
  on millrace.jobs_live (traceparent)
  where traceparent is not null;
drop index concurrently if exists millrace.no_such_index;
`;

async function open() {
  const database = await createDatabase();
  onTestFinished(database.drop);
  await database.pool.query(`insert into millrace.jobs (job_type) select 'mail' from generate_series(1, 2000)`);
  return database;
}

const isValid = async ({ pool }: TestDatabase): Promise<boolean | undefined> =>
  (await pool.query(`select indisvalid from pg_index where indexrelid = to_regclass('millrace.jobs_live_group')`))
    .rows[0]?.indisvalid;
const isRecorded = async ({ pool }: TestDatabase) =>
  (await pool.query(`select from millrace.migrations where name = '9001_online'`)).rowCount === 1;

/** Runs a migrator in a process of its own, and kills it while its build waits for an older transaction. */
async function killWhileBuilding(database: TestDatabase, folder: string) {
  const older = await createClient(database.url);
  await older.query('begin isolation level repeatable read; select from millrace.jobs_live limit 1');
  const code = `import { migrate } from '${ROOT}core/postgres/migrate.ts';
    await migrate({ connectionString: process.env.URL, folder: process.env.FOLDER })`;
  const env = { ...process.env, URL: database.url, FOLDER: folder };
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { env, stdio: 'ignore' });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  onTestFinished(() => void child.kill('SIGKILL'));
  await eventually(async () => expect(await isValid(database)).toBe(false));
  child.kill('SIGKILL');
  await exited;
  return older;
}

const tenfold = (connectionString: string, folder: string) =>
  Promise.all(Array.from({ length: 10 }, () => migrate({ connectionString, folder, log })));

it('ten concurrent migrators build an index during inserts, and one of them records it', async () => {
  const database = await open();
  const folder = await folderWith({ '9001_online.sql': ONLINE });

  const migrating = tenfold(database.url, folder);
  await database.pool.query(`insert into millrace.jobs (job_type) values ('mail')`);
  const results = await migrating;

  expect(results.flatMap(({ applied }) => applied)).toEqual(['9001_online']);
  expect([await isValid(database), await isRecorded(database)]).toEqual([true, true]);
});

it('a login that is a member of the owner builds an index', async () => {
  const database = await open();
  const login = await createLogin(database, 'millrace_owner');
  onTestFinished(async () => void (await login.drop()));
  const folder = await folderWith({ '9001_online.sql': ONLINE });

  await migrate({ connectionString: login.url, folder, log });

  const { rows } = await database.pool.query(
    `select pg_get_userbyid(relowner) as owner from pg_class where relname in ('jobs_live_group', 'jobs_live_trace')`,
  );
  expect(rows).toEqual([{ owner: 'millrace_owner' }, { owner: 'millrace_owner' }]);
});

it('a build of a killed migrator continues without delaying jobs, and the next migrator waits for it', async () => {
  const database = await open();
  const folder = await folderWith({ '9001_online.sql': ONLINE });
  const older = await killWhileBuilding(database, folder);

  const migrating = tenfold(database.url, folder);
  await database.pool.query(`set local statement_timeout = '1s'; insert into millrace.jobs (job_type) values ('mail')`);
  const recorded = await isRecorded(database);
  await older.query('rollback');
  const results = await migrating;

  expect(recorded).toBe(false);
  expect(results.flatMap(({ applied }) => applied)).toEqual(['9001_online']);
  expect([await isValid(database), await isRecorded(database)]).toEqual([true, true]);
});

it('an invalid index is dropped and rebuilt', async () => {
  const database = await open();
  const folder = await folderWith({ '9001_online.sql': ONLINE });
  const older = await killWhileBuilding(database, folder);
  await database.pool.query(
    'select pg_terminate_backend(pid) from pg_stat_progress_create_index where datname = current_database()',
  );
  await older.query('rollback');
  const { rows: before } = await database.pool.query(`select 'millrace.jobs_live_group'::regclass::oid as oid`);

  const results = await tenfold(database.url, folder);

  const { rows: after } = await database.pool.query(`select 'millrace.jobs_live_group'::regclass::oid as oid`);
  expect(results.flatMap(({ applied }) => applied)).toEqual(['9001_online']);
  expect(await isValid(database)).toBe(true);
  expect(after).not.toEqual(before);
});

it('names a statement that is not allowed or fails, and does not record its file', async () => {
  const database = await open();
  const outside = (sql: string) => folderWith({ '9001_online.sql': `-- outside a transaction\n${sql};\n` });
  const once = await outside('create index concurrently jobs_live_group on millrace.jobs_live (id)');
  const table = await outside('create table if not exists millrace.more (id int)');
  const wrong = await folderWith({ '9001_online.sql': ONLINE.replace('(group_key)', '(no_such_column)') });

  const refusals = await Promise.allSettled(
    [once, table, wrong].map((folder) => migrate({ connectionString: database.url, folder, log })),
  );

  const reasons = refusals.map((refusal) => (refusal.status === 'rejected' ? refusal.reason.message : refusal.value));
  expect(reasons).toEqual([
    expect.stringMatching(
      /^outside a transaction, a migration may contain only .* got `create index concurrently jobs_live_group/,
    ),
    expect.stringMatching(/^outside a transaction, a migration may contain only .* got `create table if/),
    'migration 9001_online: column "no_such_column" does not exist',
  ]);
  expect(await isRecorded(database)).toBe(false);
});
