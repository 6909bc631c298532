import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

/** Runs `millrace psql` with a fake psql that records its password and arguments and exits with 3. */
async function psql(url: string, ...args: string[]) {
  const folder = await temporaryFolder();
  const note = join(folder, 'note');
  await writeFile(join(folder, 'psql'), '#!/bin/sh\nprintf "%s\\n" "$PGPASSWORD" "$@" >"$NOTE"\nexit 3\n');
  await chmod(join(folder, 'psql'), 0o755);
  const env = { DATABASE_URL: url, NOTE: note, PATH: `${folder}:/usr/bin:/bin` };
  const { code } = await runCli(['psql', ...args], { env });
  const [password, ...given] = (await readFile(note, 'utf8')).trimEnd().split('\n');
  return { code, password, given };
}

it.each([
  ['in the authority', 'postgres://me:s%40cret%2F1@db:5433/shop', 'postgres://me@db:5433/shop', 's@cret/1'],
  ['in the query', 'postgres://me@db/shop?password=s%40cret&x=1', 'postgres://me@db/shop?x=1', 's@cret'],
  ['in both', 'postgres://me:one@db/shop?password=two', 'postgres://me@db/shop', 'two'],
  ['missing', 'postgres://me@db/shop?sslmode=require', 'postgres://me@db/shop?sslmode=require', ''],
])(
  'psql receives a password that is %s in its environment, not in its arguments',
  async (_where, url, address, password) => {
    const ran = await psql(url);

    expect(ran).toEqual({ code: 3, password, given: [address] });
  },
);

it('psql passes on the arguments after --, and the exit code', async () => {
  const ran = await psql('postgres://me@db/shop', '--', '-c', 'select 1', '--csv');

  expect(ran).toEqual({ code: 3, password: '', given: ['postgres://me@db/shop', '-c', 'select 1', '--csv'] });
});

it('psql states what to do if the Postgres client is not installed', async () => {
  const env = { DATABASE_URL: 'postgres://me:s3cret@db/shop', PATH: await temporaryFolder() };

  const { code, stderr } = await runCli(['psql'], { env });

  expect(code).toBe(1);
  expect(stderr).toBe('error: psql is not on the PATH: install the Postgres client, or use millrace sql\n');
});
