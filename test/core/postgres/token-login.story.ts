import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openConfiguredDatabase } from '../../../core/aws/configured.ts';
import { openDatabaseTokens } from '../../../core/aws/database-token.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { tokenLogin } from '../../../core/postgres/secrets.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { openSecretServer, WHO } from './secret-server.ts';

const { secrets, server, certificate, setPassword, reset, disconnect, close } = await openSecretServer();
const reads = vi.spyOn(secrets, 'get');
const OPTIONS = { max: 1, name: 'test', log: recordLog(), connectTimeoutMs: 3000 };
const PLACE = { user: 'runtime', host: 'localhost', port: server.port, database: 'millrace' };
const ME = [{ name: 'runtime', encrypted: true }];
afterAll(close);
beforeEach(async () => {
  await reset();
  reads.mockClear();
});
afterEach(() => void vi.useRealTimers());

/** Opens a database whose passwords a signer returns. */
function open(newToken: () => Promise<string>) {
  return openDatabase({ login: tokenLogin({ ...PLACE, ca: certificate }, newToken), ...OPTIONS });
}

/** Sets the variables of a function that logs in with tokens. */
function setVariables(ca: string): void {
  const variables = { USER: PLACE.user, HOST: PLACE.host, PORT: `${PLACE.port}`, NAME: PLACE.database, CA: ca };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(`MILLRACE_DATABASE_${name}`, value);
}

it('each connection has a new token, without a new pool, and no secret is read', async () => {
  let valid = 'first';
  const newToken = vi.fn(async () => valid);
  const db = open(newToken);
  const before = [await db.query(WHO), await db.query(WHO)];
  valid = 'second';
  await setPassword(valid);
  await disconnect();

  const after = await db.query(WHO);

  await db.close();
  expect([...before, after].map(({ rows }) => rows)).toEqual([ME, ME, ME]);
  expect(newToken).toHaveBeenCalledTimes(2);
  expect(reads).not.toHaveBeenCalled();
});

it('a refused token is the error of the query, and the next query has another one', async () => {
  const tokens = ['expired', 'first'];
  const newToken = vi.fn(async () => tokens.shift() ?? 'none');
  const db = open(newToken);

  await expect(db.query(WHO)).rejects.toThrow('password authentication failed for user "runtime"');
  const { rows } = await db.query(WHO);

  await db.close();
  expect(rows).toEqual(ME);
  expect(newToken).toHaveBeenCalledTimes(2);
});

it('a token that cannot be made is the error of the query, and the next query works', async () => {
  const newToken = vi.fn(async () => 'first').mockRejectedValueOnce(new Error('Could not load credentials'));
  const db = open(newToken);

  await expect(db.query(WHO)).rejects.toThrow('Could not load credentials');
  const { rows } = await db.query(WHO);

  await db.close();
  expect(rows).toEqual(ME);
});

it('the environment of a function names everything that a token requires', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const ca = join(server.folder, '..', 'authorities.pem');
  await writeFile(ca, certificate);
  setVariables(ca);
  await setPassword(await openDatabaseTokens(PLACE)());
  const db = openConfiguredDatabase(OPTIONS);

  const { rows } = await db.query(WHO);

  await db.close();
  expect(rows).toEqual(ME);
});

it.each([
  ['MILLRACE_DATABASE_HOST', '', 'MILLRACE_DATABASE_HOST: expected the host name of the database'],
  ['MILLRACE_DATABASE_NAME', '', 'MILLRACE_DATABASE_NAME: expected the name of the database'],
  ['MILLRACE_DATABASE_PORT', '0', 'MILLRACE_DATABASE_PORT: expected a whole number from 1 to 65535'],
])('a wrong %s is named', (name, value, sentence) => {
  setVariables('authorities.pem');
  vi.stubEnv(name, value);

  expect(() => openConfiguredDatabase(OPTIONS)).toThrow(sentence);
});
