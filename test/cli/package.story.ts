import { execFile } from 'node:child_process';
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { bundlePackage } from '../../cli/bundle.ts';
import { createDatabase } from '../support/database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');

const APPLICATION = `
import { defineHandler, enqueue, migrate } from 'millrace';
import pg from 'pg';
const { DATABASE_URL: connectionString } = process.env;
const log = { info() {}, warn() {}, error() {}, child: () => log };
await migrate({ connectionString, log });
const payload = { '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } };
const handler = defineHandler({ jobType: 'hello', payload, run: async () => undefined });
const client = new pg.Client({ connectionString });
await client.connect();
console.log(JSON.stringify(await enqueue(client, handler, { to: 'you' })));
await client.end();
`;

/** Creates what npm would install: JavaScript, declarations, the launcher, and the dependencies beside it. */
async function install(): Promise<string> {
  const folder = await temporaryFolder();
  await run(process.execPath, [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    ...['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(folder, 'dist')],
  ]);
  await bundlePackage(join(folder, 'dist'));
  await cp(join(ROOT, 'migrations'), join(folder, 'dist/migrations'), { recursive: true });
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await cp(join(ROOT, 'cli/millrace.js'), join(folder, 'cli/millrace.js'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

it('the package works for an application and for the command line without the repository', {
  timeout: 60_000,
}, async () => {
  const [folder, database] = await Promise.all([install(), createDatabase({ migrated: false })]);
  const options = { cwd: folder, env: { PATH: process.env.PATH, DATABASE_URL: database.url } };

  const application = await run(process.execPath, ['--input-type=module', '-e', APPLICATION], options);
  const list = await run(process.execPath, ['cli/millrace.js', 'jobs', 'list', '--json'], options);
  const status = await run(process.execPath, ['cli/millrace.js', 'migrate', 'status', '--json'], options);
  const up = await run(process.execPath, ['cli/millrace.js', 'up'], options).catch((error) => error);
  await database.drop();

  expect(up).toMatchObject({ code: 2, stderr: expect.stringContaining('no folder functions/handlers') });
  expect(JSON.parse(application.stdout)).toEqual({ id: '1', deduplicated: false });
  expect(JSON.parse(list.stdout)).toMatchObject({ items: [{ id: '1', job_type: 'hello' }] });
  expect(JSON.parse(status.stdout)[0]).toMatchObject({ name: '0001_foundation', state: 'applied' });
});
