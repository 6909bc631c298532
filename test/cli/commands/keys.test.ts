import { expect, it } from 'vitest';
import { checkApiKey, createApiKey } from '../../../core/access/api-keys.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { createDatabase } from '../../support/database.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { runCli } from '../run-cli.ts';

const database = await createDatabase();
const db = openDatabase({ connectionString: database.url, max: 1, name: 'test', log: recordLog() });
const run = (...args: string[]) => runCli(['keys', ...args], { env: { DATABASE_URL: database.url } });
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);

it('keys creates, lists and revokes a key', async () => {
  const made = await json('create', 'billing', '--scope', 'producer,jobs:read', '--expires', '90d');
  const holder = await checkApiKey(db, made.secret);
  const listed = await run('list');

  const revoked = await run('revoke', made.id, '--yes');
  const after = await run();

  expect(holder).toEqual({ id: made.id, name: 'billing', scopes: ['jobs:enqueue', 'jobs:read'] });
  expect(new Date(made.expires_at).getTime() - Date.now()).toBeCloseTo(90 * 86_400_000, -6);
  expect(listed.stdout).toMatch(new RegExp(`^${made.id}\tbilling\tvalid\tjobs:enqueue, jobs:read\t`, 'm'));
  expect(listed.stdout).not.toContain(made.secret.slice(-20));
  expect(revoked).toMatchObject({ code: 0, stdout: `revoked\t${made.id}\n` });
  expect(after.stdout).toMatch(new RegExp(`^${made.id}\tbilling\trevoked\t`, 'm'));
  expect(await checkApiKey(db, made.secret)).toBeUndefined();
});

it('keys revoke --with-made also revokes the keys that were created with the key', async () => {
  const maker = await createApiKey(db, { name: 'maker', scopes: ['keys:admin'] });
  const made = await createApiKey(db, { name: 'made', scopes: ['keys:admin'] }, { madeBy: maker.key.id });

  const asked = await run('revoke', maker.key.id, '--with-made');
  const revoked = await run('revoke', maker.key.id, '--with-made', '--yes');
  const listed = await run();

  expect(asked).toMatchObject({ code: 6, stdout: '' });
  expect(revoked.code).toBe(0);
  expect(listed.stdout).toMatch(new RegExp(`^${made.key.id}\tmade\trevoked\t.*\t${maker.key.id}$`, 'm'));
});

it('keys create warns that the secret is shown only once', async () => {
  const { code, stdout, stderr } = await run('create', 'grafana', '--scope', 'metrics:read');

  expect(code).toBe(0);
  expect(stdout).toMatch(/^secret\tmillrace_\d+_[\w-]{43}$/m);
  expect(stderr).toContain('not shown again');
});

it.each([
  [['create', 'a'], 2, "required option '--scope <scope>'"],
  [['create', 'a', '--scope', 'root'], 2, 'Expected scopes (jobs:enqueue'],
  [['create', ' ', '--scope', 'admin'], 2, 'Expected a name'],
  [['create', 'a\u001b[2Jb', '--scope', 'admin'], 2, 'Expected a name'],
  [['create', 'a', '--scope', 'admin', '--expires', 'soon'], 2, 'Expected a duration above 0'],
  [['create', 'a', '--scope', 'admin', '--expires', '0d'], 2, 'Expected a duration above 0'],
  [['revoke', 'x'], 2, 'Expected the id of a key'],
  [['revoke', '999999', '--yes'], 3, 'key 999999 does not exist: see npx millrace keys'],
  [['revoke', '1'], 6, 'Nothing was done: confirm with --yes'],
])('keys %j exits with %i', async (args, code, sentence) => {
  const answer = await run(...args);

  expect(answer.code).toBe(code);
  expect(answer.stderr).toContain(sentence);
});
