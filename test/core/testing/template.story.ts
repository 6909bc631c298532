import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { dropDatabase, ensureTemplate, openServer } from '../../../core/testing/template.ts';
import { createDatabase } from '../../support/database.ts';
import { createLogin } from '../../support/runtime-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Returns a server, and the name of the template for a release whose migrations no other test has. */
async function openRelease() {
  const folder = await temporaryFolder();
  await writeFile(join(folder, '0001_only.sql'), `select '${randomBytes(6).toString('hex')}'`);
  const { url } = inject('postgres');
  const server = openServer(url);
  const name = await ensureTemplate(server, url, folder);
  onTestFinished(async () => {
    await dropDatabase(server, name);
    await server.close();
  });
  return { server, url, name, folder };
}

it('a template of this login or of a superuser is used again', async () => {
  const { server, url, name, folder } = await openRelease();

  expect(await ensureTemplate(server, url, folder)).toBe(name);
});

it('a template of another login is not used, whose triggers would have the rights of the tests', async () => {
  const { server, url, name, folder } = await openRelease();
  const database = await createDatabase();
  const login = await createLogin(database, 'millrace_app');
  onTestFinished(async () => {
    await database.drop();
    await login.drop();
  });
  await database.pool.query(`alter database ${name} owner to ${login.name}`);

  await expect(ensureTemplate(server, url, folder)).rejects.toThrow(`the database ${name} belongs to ${login.name}`);
  await database.pool.query(`alter database ${name} owner to current_user`);
});
