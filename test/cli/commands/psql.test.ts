import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
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

/** A fake psql that records its PG* variables, its arguments and the authorities that it gets, and exits with 3. */
const STAND_IN = `#!/bin/sh
env | grep ^PG >"$NOTE.env"
printf "%s\\n" "$@" >"$NOTE"
for word in $1; do case $word in sslrootcert=*) cp "\${word#sslrootcert=}" "$NOTE.pem" ;; esac; done
exit 3
`;
/** What psql gets for \`postgres://me:s3cret@localhost/shop\`. */
const LOCAL = 'host=localhost port=5432 user=me dbname=shop sslmode=disable gssencmode=disable';

async function psql(url: string, args: readonly string[] = [], more: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder();
  const note = join(folder, 'note');
  await writeFile(join(folder, 'psql'), STAND_IN);
  await chmod(join(folder, 'psql'), 0o755);
  const env = { DATABASE_URL: url, NOTE: note, PATH: `${folder}:/usr/bin:/bin`, ...more };
  const { code, stderr } = await runCli(['psql', ...args], { env });
  if (!existsSync(note)) return { code, stderr, given: [], variables: '', authorities: '' };
  const [given = '', variables = ''] = await Promise.all([readFile(note, 'utf8'), readFile(`${note}.env`, 'utf8')]);
  const authorities = existsSync(`${note}.pem`) ? await readFile(`${note}.pem`, 'utf8') : '';
  return { code, stderr, given: given.trimEnd().split('\n'), variables, authorities };
}

it.each([
  ['in the authority', 'postgres://me:s%40cret%2F1@localhost/shop', 'PGPASSWORD=s@cret/1\n'],
  ['in the query', 'postgres://me@localhost/shop?password=s%40cret&x=1', 'PGPASSWORD=s@cret\n'],
  ['in both', 'postgres://me:one@localhost/shop?password=two', 'PGPASSWORD=two\n'],
  ['missing', 'postgres://me@localhost/shop', ''],
])('psql gets a password that is %s in its environment, not in its arguments', async (_where, url, variables) => {
  expect(await psql(url)).toMatchObject({ code: 3, variables, given: [LOCAL] });
});

it('psql passes on the arguments after --, and the exit code', async () => {
  const ran = await psql('postgres://me@localhost/shop', ['--', '-c', 'select 1', '--csv']);

  expect(ran).toMatchObject({ code: 3, given: [LOCAL, '-c', 'select 1', '--csv'] });
});

it.each(['db.example', '192.0.2.2', '[2001:db8::1]'])(
  'psql verifies the certificate of another machine: %s',
  async (host) => {
    const { given, authorities } = await psql(`postgres://me:s3cret@${host}/shop`);

    expect(given).toEqual([expect.stringMatching(/ sslmode=verify-full gssencmode=disable sslrootcert=\S+\.pem$/)]);
    const rds = await readFile('infra/rds-ca.pem', 'utf8');
    expect(authorities).toContain(rds);
    expect(new X509Certificate(authorities).ca).toBe(true);
    expect(existsSync(given[0]?.split('sslrootcert=')[1] ?? '')).toBe(false);
  },
);

it.each([
  ['sslmode=prefer', 'sslmode=prefer gssencmode=disable'],
  ['sslmode=no-verify', 'sslmode=require gssencmode=disable'],
  ['sslmode=require&sslrootcert=/etc/hosts', 'sslmode=require gssencmode=disable sslrootcert=/etc/hosts'],
  ['ssl=false', 'sslmode=disable gssencmode=disable'],
])('psql gets the mode that the address names: %s', async (query, expected) => {
  const { given } = await psql(`postgres://me:s3cret@db.example/shop?${query}`);

  expect(given).toEqual([`host=db.example port=5432 user=me dbname=shop ${expected}`]);
});

it('psql connects to the host of the parameters, as every other command', async () => {
  const { given } = await psql('postgres://me:s3cret@localhost/shop?host=db.example&port=5433&options=-c%20geqo%3Doff');

  expect(given[0]).toMatch(
    /^host=db\.example port=5433 user=me dbname=shop sslmode=verify-full .* options='-c geqo=off'/,
  );
});

it.each(['hostaddr=192.0.2.2', 'hostaddr=192.0.2.2&sslmode=prefer', 'hostaddr='])(
  'psql does not start with an address that does not show the machine to which it connects: %s',
  async (query) => {
    const ran = await psql(`postgres://me:s3cret@localhost/shop?${query}`);

    expect(ran).toMatchObject({ code: 2, given: [] });
    expect(ran.stderr).toMatch(/^error: DATABASE_URL: hostaddr: expected no such parameter/);
  },
);

it.each(['PGHOSTADDR', 'PGSSLMODE', 'PGSERVICE', 'PGREQUIRESSL'])('psql does not get %s', async (name) => {
  const { variables } = await psql('postgres://me:s3cret@localhost/shop', [], { [name]: '192.0.2.2' });

  expect(variables).toBe('PGPASSWORD=s3cret\n');
});

const hasPsql = existsSync('/usr/bin/psql');
const notRun = hasPsql ? '' : ' (not run: /usr/bin/psql is not installed)';

it.skipIf(!hasPsql)(`the real psql connects with what it gets, as to any server${notRun}`, async () => {
  const args = ['psql', '--', '-X', '-c', String.raw`\o /dev/null`, '-c', 'select 1'];
  const env = { DATABASE_URL: `${database.url}?application_name=it%27s%20%5Cmine`, PATH: '/usr/bin:/bin' };

  const { code } = await runCli(args, { env });

  expect(code).toBe(0);
});

it('psql states what to do if the Postgres client is not installed', async () => {
  const env = { DATABASE_URL: 'postgres://me:s3cret@db/shop', PATH: await temporaryFolder() };

  const { code, stderr } = await runCli(['psql'], { env });

  expect(code).toBe(1);
  expect(stderr).toBe('error: psql is not on the PATH: install the Postgres client, or use millrace sql\n');
});
