import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { migrate, readMigrations } from '../../../core/postgres/migrate.ts';
import { withDatabase } from '../../../core/testing/template.ts';
import { startPostgres } from '../../../local/postgres/postgres.ts';
import { openChildren } from '../../../local/processes/children.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { ask, chosenBinaries } from '../../support/postgres-server.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { folderWith, SHIPPED } from './migrations-folder.ts';

const ROOT = new URL('../../../', import.meta.url).href;
const log = recordLog();
const names = readMigrations(SHIPPED).map(({ name }) => name);
const single = await createDatabase();
afterAll(single.drop);

/** Returns all objects of the schema as text. */
const DESCRIBE = `
  select string_agg(line, e'\\n' order by line) as text from (
    select c.relkind::text || ' ' || c.relname || ' ' || coalesce(c.relacl::text, '') || ' '
      || coalesce(c.reloptions::text, '') as line
      from pg_class c where relnamespace = 'millrace'::regnamespace
    union all select 'column ' || attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod)
      || ' ' || attnotnull::text
      || coalesce(pg_get_expr(adbin, adrelid), '')
      from pg_attribute a left join pg_attrdef d on (adrelid, adnum) = (attrelid, attnum)
      join pg_class c on c.oid = attrelid and relnamespace = 'millrace'::regnamespace where attnum > 0
    union all select 'constraint ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint
      where connamespace = 'millrace'::regnamespace
    union all select 'function ' || pg_get_functiondef(oid) || coalesce(proacl::text, '') from pg_proc
      where pronamespace = 'millrace'::regnamespace) s`;
const schemaOf = async (url: string) => (await ask(url, DESCRIBE)).split('\n');

/** Runs a migrator in a process of its own, and kills it after some milliseconds. */
async function killedMigrator(url: string, after: number, folder = SHIPPED): Promise<void> {
  const code = `import { migrate } from '${ROOT}core/postgres/migrate.ts';
    await migrate({ connectionString: process.env.URL, folder: process.env.FOLDER })`;
  const env = { ...process.env, URL: url, FOLDER: folder };
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { env, stdio: 'ignore' });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  setTimeout(() => child.kill('SIGKILL'), after);
  await exited;
}

async function migrateTenfold(url: string, folder = SHIPPED): Promise<string[][]> {
  const killed = killedMigrator(url, 250, folder);
  const results = await Promise.all(
    Array.from({ length: 10 }, () =>
      migrate({ connectionString: url, folder, log }).then(({ applied }) => [...applied]),
    ),
  );
  await killed;
  await migrate({ connectionString: url, folder, log });
  return results;
}
const ledger = (database: { url: string }) =>
  ask(database.url, `select string_agg(name, ' ' order by name) from millrace.migrations`);

describe('MIG-01', () => {
  it('ten concurrent migrators, one of them killed, create the same schema as one', async () => {
    const database: TestDatabase = await createDatabase({ migrated: false });

    const results = await migrateTenfold(database.url);
    const schema = await schemaOf(database.url);
    const recorded = await ledger(database);
    await database.drop();

    expect(results).toHaveLength(10);
    expect(recorded).toBe(names.join(' '));
    expect(schema).toEqual(await schemaOf(single.url));
  });

  it('ten concurrent migrators apply a new file once', async () => {
    const database = await createDatabase();
    const folder = await folderWith({
      '9001_more.sql':
        'create table millrace.more (id int); select pg_sleep(0.2); insert into millrace.more values (1);',
    });

    await migrateTenfold(database.url, folder);
    const recorded = await ledger(database);
    const rows = await ask(database.url, 'select count(*) from millrace.more');
    await database.drop();

    expect([recorded, rows]).toEqual([[...names, '9001_more'].join(' '), '1']);
  });

  it('a login without superuser rights sets up several databases of a new server concurrently', async () => {
    const children = openChildren();
    const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
    const folder = join(await temporaryFolder(), 'data');
    const server = await startPostgres({ children, folder, settings, ...chosenBinaries() });
    const databases = ['one', 'Two', 'drei vier'];
    await ask(server.url, `create role "o'admin" login createrole password 'p'`);
    for (const name of databases) await ask(server.url, `create database "${name}" owner "o'admin"`);
    const urlOf = (name: string) => {
      const url = new URL(withDatabase(server.url, encodeURIComponent(name)));
      url.username = encodeURIComponent(`o'admin`);
      url.password = 'p';
      return url.href;
    };

    const results = await Promise.allSettled(
      [...databases, ...databases, ...databases].map((name) => migrate({ connectionString: urlOf(name), log })),
    );
    const recorded = await Promise.all(
      databases.map((name) =>
        ask(withDatabase(server.url, encodeURIComponent(name)), 'select count(*) from millrace.migrations'),
      ),
    );
    await children.close();

    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(recorded).toEqual(databases.map(() => String(names.length)));
  });
});
