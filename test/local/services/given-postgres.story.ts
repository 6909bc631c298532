import { expect, it, onTestFinished } from 'vitest';
import { withDatabase } from '../../../core/testing/template.ts';
import { givenPostgres } from '../../../local/services/given-postgres.ts';
import { createDatabase } from '../../support/database.ts';
import { ask } from '../../support/postgres-server.ts';

async function database(options?: { migrated: boolean }) {
  const { url, pool, drop } = await createDatabase(options);
  onTestFinished(drop);
  return { url, pool };
}

it.each([
  ['that belongs to no stage', undefined],
  ['of a stack', 'local'],
])('a database %s is used', async (_what, stage) => {
  const { url, pool } = await database();
  if (stage) await pool.query('select millrace.assign_stage($1)', [stage]);

  const postgres = await givenPostgres(url);

  expect(postgres.current()).toMatchObject({ url, version: expect.stringMatching(/^\d\d/) });
});

it('a database without Millrace is used, and not changed yet', async () => {
  const { url, pool } = await database({ migrated: false });

  await givenPostgres(url);

  const { rows } = await pool.query(`select to_regnamespace('millrace') as schema`);
  expect(rows).toEqual([{ schema: null }]);
});

it('a missing database is created', async () => {
  const { url } = await database({ migrated: false });
  const missing = withDatabase(url, `${new URL(url).pathname.slice(1)}_new`);
  onTestFinished(async () => void (await ask(url, `drop database if exists ${new URL(missing).pathname.slice(1)}`)));

  const postgres = await givenPostgres(missing);

  expect(postgres.current().url).toBe(missing);
});

it('a missing database that the login may not create is named', async () => {
  const { url, pool } = await database({ migrated: false });
  const login = `weak_${new URL(url).pathname.slice(1)}`;
  await pool.query(`create role ${login} login password 'x'`);
  onTestFinished(async () => void (await ask(url, `drop role ${login}`)));
  const missing = new URL(withDatabase(url, 'nope'));
  Object.assign(missing, { username: login, password: 'x' });

  await expect(givenPostgres(missing.href)).rejects.toThrow(
    /: the database nope does not exist, and cannot be created: permission denied to create database$/,
  );
});

it('a database that belongs to a deployed stage is refused', async () => {
  const { url, pool } = await database();
  await pool.query(`select millrace.assign_stage('prod')`);

  await expect(givenPostgres(url)).rejects.toThrow(
    /^--database-url: postgres:\S+ belongs to the stage prod, .*use another database.*renew_epoch/,
  );
});

it('a copy of such a database is used after its epoch was renewed', async () => {
  const { url, pool } = await database();
  await pool.query(`select millrace.assign_stage('prod'); select millrace.renew_epoch()`);

  const postgres = await givenPostgres(url);

  expect(postgres.current().url).toBe(url);
});

it('a database whose stage the login may not read is refused', async () => {
  const { url, pool } = await database();
  const login = `no_rights_${new URL(url).pathname.slice(-12)}`;
  await pool.query(`create role ${login} login password 'x'`);
  onTestFinished(async () => void (await ask(url, `drop role if exists ${login}`)));
  const weak = new URL(url);
  Object.assign(weak, { username: login, password: 'x' });

  await expect(givenPostgres(weak.href)).rejects.toThrow(/cannot read to which stage .* use the login of its owner/);
});

it('a server that does not answer is an error at once, without the password', async () => {
  const given = givenPostgres('postgres://ada:secret@127.0.0.1:1/app');

  await expect(given).rejects.toThrow(/^--database-url: cannot connect to postgres:\/\/ada@127.0.0.1:1\/app: /);
  await expect(given).rejects.not.toThrow(/secret/);
});
