import { expect, it, onTestFinished } from 'vitest';
import { migrate, migrationStatus } from '../../core/postgres/migrate.ts';
import { createClient, createDatabase } from '../support/database.ts';
import { createLogin, recordLog } from '../support/runtime-engine.ts';

/** Makes the login a superuser if a session of a superuser runs it, whatever role that session has set. */
const climb = (login: string) => `create function public.climb() returns trigger language plpgsql as $$
  begin perform set_config('role', 'none', false); execute 'alter role ${login} superuser'; return new; end $$`;
const LEDGER = `create table millrace.migrations
  (name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
const OPEN = 'grant all on schema millrace to public; grant all on all tables in schema millrace to public';

/** Opens an empty database in which an application's login may create schemas, and has created some. */
async function plant(statements: (login: string) => readonly string[]) {
  const database = await createDatabase({ migrated: false });
  const login = await createLogin(database, 'pg_monitor');
  onTestFinished(async () => {
    await database.drop();
    await login.drop();
  });
  const { rows } = await database.pool.query<{ name: string }>('select current_database() as name');
  await database.pool.query(`grant create on database ${rows[0]?.name} to ${login.name}`);
  await database.pool.query(`grant create on schema public to ${login.name}`);
  const application = await createClient(login.url);
  for (const statement of statements(login.name)) await application.query(statement);
  const isSuperuser = async () =>
    (await database.pool.query('select rolsuper from pg_roles where rolname = $1', [login.name])).rows[0].rolsuper;
  return { database, login, isSuperuser };
}

it.each<[string, (login: string) => readonly string[]]>([
  [
    'a ledger with a trigger',
    (login) => [
      ...['create schema millrace', LEDGER, climb(login)],
      'create trigger climb before insert on millrace.migrations for each row execute function public.climb()',
      OPEN,
    ],
  ],
  ['a schema that everybody may use', () => ['create schema millrace', OPEN]],
  [
    'a ledger that is a view',
    () => [
      'create schema millrace',
      `create view millrace.migrations as select ''::text as name, ''::text as checksum, now() as applied_at`,
      OPEN,
    ],
  ],
])('migrate refuses what another login has created before: %s', async (_what, statements) => {
  const { database, login, isSuperuser } = await plant(statements);

  const outcome = migrate({ connectionString: database.url, log: recordLog() });

  await expect(outcome).rejects.toThrow(`the schema millrace belongs to ${login.name}`);
  expect(await isSuperuser()).toBe(false);
  const status = migrationStatus(database.pool as never);
  await expect(status).rejects.toThrow(`the schema millrace belongs to ${login.name}`);
  const { rows } = await database.pool.query(`select to_regclass('millrace.jobs') as jobs`);
  expect(rows).toEqual([{ jobs: null }]);
});

it('migrate refuses a ledger that another login has created in our schema', async () => {
  const { database, login, isSuperuser } = await plant((name) => [climb(name)]);
  await database.pool.query(`create schema millrace authorization millrace_owner; ${OPEN}`);
  const application = await createClient(login.url);
  await application.query(LEDGER);

  const outcome = migrate({ connectionString: database.url, log: recordLog() });

  await expect(outcome).rejects.toThrow(`the table millrace.migrations belongs to ${login.name}`);
  expect(await isSuperuser()).toBe(false);
});

it('migrate accepts a schema that a superuser has created, and runs again', async () => {
  const { database } = await plant(() => []);
  await database.pool.query('create schema millrace; grant all on schema millrace to millrace_owner');

  const first = await migrate({ connectionString: database.url, log: recordLog() });
  const second = await migrate({ connectionString: database.url, log: recordLog() });

  expect([first.applied.length > 10, second.applied]).toEqual([true, []]);
  const states = (await migrationStatus(database.pool as never)).map(({ state }) => state);
  expect(new Set(states)).toEqual(new Set(['applied']));
});
