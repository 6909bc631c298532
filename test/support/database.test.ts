import { afterAll, expect, it, onTestFinished } from 'vitest';
import { createDatabase } from './database.ts';
import { ask } from './postgres-server.ts';

const one = await createDatabase();
const other = await createDatabase();
afterAll(async () => {
  await other.drop();
});

it('createDatabase creates a separate database for every caller', async () => {
  await one.pool.query('create table only_here (id int)');

  const { rows } = await other.pool.query("select to_regclass('public.only_here') as found");

  expect(rows).toEqual([{ found: null }]);
});

it('drop removes a database that has connections', async () => {
  const guest = await other.pool.query('select 1 as one');
  await one.drop();

  const left = await ask(
    other.url,
    `select count(*) from pg_database where datname = '${new URL(one.url).pathname.slice(1)}'`,
  );

  expect(guest.rows).toEqual([{ one: 1 }]);
  expect(left).toBe('0');
});

it('createDatabase migrates the database unless migrated is false', async () => {
  const empty = await createDatabase({ migrated: false });
  onTestFinished(() => empty.drop());
  const statement = "select to_regclass('millrace.jobs')::text";

  expect(await ask(other.url, statement)).toBe('millrace.jobs');
  expect(await ask(empty.url, statement)).toBe('');
});
