import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

function parts() {
  const url = new URL(database.url);
  const password = decodeURIComponent(url.password);
  url.password = '';
  return { url, password, without: url.href };
}

const list = (env: Record<string, string>, ...args: string[]) => runCli(['jobs', 'list', '--json', ...args], { env });

async function passwordFile(text: string, mode = 0o600): Promise<string> {
  const file = join(await temporaryFolder(), 'pgpass');
  await writeFile(file, text);
  await chmod(file, mode);
  return file;
}

it('an address without a password uses PGPASSWORD, whether a flag or a variable contains the address', async () => {
  const { without, password } = parts();

  const byFlag = await list({ PGPASSWORD: password }, '--database-url', without);
  const byVariable = await list({ PGPASSWORD: password, DATABASE_URL: without });
  const bySql = await runCli(['sql', 'select 1'], { env: { PGPASSWORD: password, DATABASE_URL: without } });

  expect([byFlag.code, byVariable.code, bySql.code]).toEqual([0, 0, 0]);
});

it('the password in an address takes precedence over PGPASSWORD', async () => {
  const { code } = await list({ PGPASSWORD: 'wrong' }, '--database-url', database.url);

  expect(code).toBe(0);
});

it.each([
  ['an exact line', (host: string, rest: string) => `# comment\nother:1:x:y:wrong\n${host}:${rest}`],
  ['the first of two lines', (host: string, rest: string) => `${host}:${rest}\n*:*:*:*:wrong`],
  ['a line for any server', (_host: string, rest: string) => `*:*:*:${rest.split(':').slice(2).join(':')}\r\n`],
])('an address without a password uses %s of the password file', async (_what, write) => {
  const { url, without, password } = parts();
  const escaped = password.replaceAll(/[\\:]/g, '\\$&');
  const text = write(url.hostname, `${url.port}:${url.pathname.slice(1)}:${url.username}:${escaped}`);

  const { code } = await list({ PGPASSFILE: await passwordFile(text) }, '--database-url', without);

  expect(code).toBe(0);
});

it('a password file is not used if others can read it or no line matches', async () => {
  const { without, password } = parts();
  const open = await passwordFile(`*:*:*:*:${password}`, 0o644);
  const other = await passwordFile(`elsewhere:*:*:*:${password}`);

  for (const PGPASSFILE of [open, other, '/nowhere']) {
    const { code, stderr } = await list({ PGPASSFILE }, '--database-url', without);

    expect(code).toBe(4);
    expect(stderr).toMatch(
      /requires a password: include it in DATABASE_URL, set PGPASSWORD, or add a line to ~\/\.pgpass/,
    );
  }
});
