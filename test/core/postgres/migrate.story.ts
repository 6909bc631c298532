import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { migrate, migrationStatus, readMigrations } from '../../../core/postgres/migrate.ts';
import { createDatabase } from '../../support/database.ts';
import { createLogin, recordLog } from '../../support/runtime-engine.ts';
import { folderWith, SHIPPED } from './migrations-folder.ts';

const log = recordLog();
const shared = await createDatabase({ migrated: false });
afterAll(shared.drop);

/** A database with all shipped migrations. */
async function migrated() {
  const database = await createDatabase();
  onTestFinished(database.drop);
  return database;
}
const names = readMigrations(SHIPPED).map(({ name }) => name);
const ledger = async ({ pool }: { pool: typeof shared.pool }) =>
  (await pool.query('select name from millrace.migrations order by name')).rows.map(({ name }) => name);

describe('migrate', () => {
  it('applies every file in the order of the names, and nothing at the second run', async () => {
    const first = await migrate({ connectionString: shared.url, log });
    const second = await migrate({ connectionString: shared.url, log });

    expect(first).toEqual({ applied: names, ahead: [] });
    expect(second).toEqual({ applied: [], ahead: [] });
    expect(await ledger(shared)).toEqual(names);
    expect(log.events('migration_applied').map(({ migration }) => migration)).toEqual(names);
  });

  it.each([
    ['select 1;\n\ncreate table millrace.more (id nothing);', 3],
    ['-- ü\n\ninsert into nowhere values (1);', 3],
    ['selec 1;', 1],
  ])('names the line of the statement that fails: %j', async (sql, line) => {
    const database = await migrated();
    const folder = await folderWith({ '9001_more.sql': sql });

    const migrating = migrate({ connectionString: database.url, folder, log });

    await expect(migrating).rejects.toThrow(`migration 9001_more, line ${line}: `);
  });

  it('applies a file that a later release adds', async () => {
    const database = await migrated();
    const folder = await folderWith({ '9001_more.sql': 'create table millrace.more (id int)' });

    const result = await migrate({ connectionString: database.url, folder, log });

    expect(result.applied).toEqual(['9001_more']);
    const { rows } = await database.pool.query(`select tableowner from pg_tables where tablename = 'more'`);
    expect(rows).toEqual([{ tableowner: 'millrace_owner' }]);
  });

  it('accepts a database that is ahead of the files, and returns the unknown migrations', async () => {
    const database = await migrated();
    const folder = await folderWith({ '9001_more.sql': 'select 1' });
    await migrate({ connectionString: database.url, folder, log });

    const result = await migrate({ connectionString: database.url, log });

    expect(result).toEqual({ applied: [], ahead: ['9001_more'] });
  });

  it('refuses an applied file that was changed, and states what to do', async () => {
    const database = await migrated();
    const folder = await folderWith({ '9001_more.sql': 'create table millrace.more (id int)' });
    await appendFile(join(folder, `${names[1]}.sql`), '\n-- an afterthought\n');

    const outcome = migrate({ connectionString: database.url, folder, log });

    await expect(outcome).rejects.toThrow(
      `migration ${names[1]} was changed after it was applied to this database: restore the file`,
    );
    expect(await ledger(database)).toEqual(names);
  });

  it('rolls back a file that fails, names it, and continues after its correction', async () => {
    const database = await migrated();
    const broken = await folderWith({ '9001_more.sql': 'create table millrace.more (id int); select 1/0;' });
    const mended = await folderWith({ '9001_more.sql': 'create table millrace.more (id int)' });

    const outcome = migrate({ connectionString: database.url, folder: broken, log });

    await expect(outcome).rejects.toThrow('migration 9001_more: division by zero');
    const { rows } = await database.pool.query(`select to_regclass('millrace.more') as more`);
    expect(rows).toEqual([{ more: null }]);
    expect((await migrate({ connectionString: database.url, folder: mended, log })).applied).toEqual(['9001_more']);
  });

  it('names the rights that a login lacks', async () => {
    const database = await migrated();
    const login = await createLogin(database, 'millrace_app');
    onTestFinished(async () => void (await login.drop()));

    const outcome = migrate({ connectionString: login.url, log });

    await expect(outcome).rejects.toThrow('the login requires CREATEROLE and CREATE on the database');
  });

  it('fails with the cause instead of delaying inserts', async () => {
    const database = await migrated();
    const folder = await folderWith({ '9001_more.sql': 'alter table millrace.jobs add column more int' });
    const reader = await database.pool.connect();
    await reader.query('begin');
    await reader.query('select from millrace.jobs_live');

    const outcome = await migrate({ connectionString: database.url, folder, log }).catch(
      (error: Error) => error.message,
    );
    await reader.query('rollback');
    reader.release();
    const then = await migrate({ connectionString: database.url, folder, log });

    expect(outcome).toMatch(/^migration 9001_more: .*lock timeout/);
    expect(then.applied).toEqual(['9001_more']);
  });
});

describe('the status of a database', () => {
  it('distinguishes applied, pending, changed and unknown files, and changes nothing', async () => {
    const database = await migrated();
    const before = await migrationStatus(shared.pool as never);
    await migrate({ connectionString: database.url, folder: await folderWith({ '9002_ahead.sql': 'select 1' }), log });
    const folder = await folderWith({ '9001_more.sql': 'select 1' });
    await appendFile(join(folder, `${names[0]}.sql`), '\n');

    const status = await migrationStatus(database.pool as never, folder);

    expect(new Set(before.map(({ state }) => state))).toEqual(new Set(['applied']));
    expect(status.map(({ name, state }) => [name, state])).toEqual([
      [names[0], 'changed'],
      ...names.slice(1).map((name) => [name, 'applied']),
      ['9001_more', 'pending'],
      ['9002_ahead', 'ahead'],
    ]);
  });
});
