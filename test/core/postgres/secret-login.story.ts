import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { migrate } from '../../../core/postgres/migrate.ts';
import { secretLogin } from '../../../core/postgres/secrets.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { certify, startOwnPostgres } from '../../support/tls-postgres.ts';
import { ARN, openSecretServer, WHO } from './secret-server.ts';

const { secrets, server, certificate, changePassword, reset, disconnect, open, close } = await openSecretServer();
const log = recordLog();
const reads = vi.spyOn(secrets, 'get');

afterAll(close);
beforeEach(async () => {
  await reset();
  reads.mockClear();
});

const keep = (secret: unknown) => secrets.set(ARN, typeof secret === 'string' ? secret : JSON.stringify(secret));

describe('a login from a secret', () => {
  it('is encrypted, and reads the secret once for all queries', async () => {
    const db = open();

    const answers = [await db.query(WHO), await db.query(WHO), await db.transaction((tx) => tx.query(WHO))];

    expect(answers.map(({ rows }) => rows)).toEqual(Array(3).fill([{ name: 'runtime', encrypted: true }]));
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('reads the secret again, once, after a change of the password', async () => {
    const db = open();
    await db.query(WHO);
    await changePassword('second');
    await disconnect();

    const { rows } = await db.query(WHO);

    expect(rows).toEqual([{ name: 'runtime', encrypted: true }]);
    expect(reads).toHaveBeenCalledTimes(2);
  });

  it('reports a wrong password, and does not read the secret repeatedly', async () => {
    const db = open();
    keep({ username: 'runtime', password: 'wrong', host: 'localhost', port: server.port, dbname: 'millrace' });

    await expect(db.query(WHO)).rejects.toThrow('password authentication failed for user "runtime"');

    // The secret, the secret again, and its two other versions.
    expect(reads).toHaveBeenCalledTimes(4);
  });

  it('works after a secret that was unreadable at first', async () => {
    const db = open();
    secrets.delete(ARN);
    await expect(db.query(WHO)).rejects.toThrow(`secret ${ARN}: cannot be read (ResourceNotFoundException`);
    await changePassword('third');

    const { rows } = await db.query(WHO);

    expect(rows).toHaveLength(1);
  });

  it('prefers settings to fields of the secret', async () => {
    keep({ username: 'runtime', password: 'first', host: 'nowhere.invalid', port: 1, dbname: 'nothing' });
    const db = open({ host: 'localhost', port: String(server.port), database: 'millrace' });

    const { rows } = await db.query(WHO);

    expect(rows).toHaveLength(1);
  });
});

describe('the error of a login from a secret names', () => {
  it.each([
    ['no JSON', 'hunter2', 'expected JSON with username and password'],
    ['an array', '[]', 'expected JSON with username'],
    ['no password', { username: 'runtime' }, 'expected JSON with password'],
    ['no host', { username: 'a', password: 'b' }, 'expected JSON with host, or the setting MILLRACE_DATABASE_HOST'],
    ['no database', { username: 'a', password: 'b', host: 'c' }, 'dbname, or the setting MILLRACE_DATABASE_NAME'],
  ])('the secret with %s', async (_what, secret, sentence) => {
    keep(secret);

    const asking = open().query(WHO);

    await expect(asking).rejects.toThrow(sentence);
    await expect(asking).rejects.not.toThrow('hunter2');
  });

  it.each(['0', '70000', 'x'])('the port %s', async (port) => {
    await expect(open({ port }).query(WHO)).rejects.toThrow('MILLRACE_DATABASE_PORT: expected a port from 1 to 65535');
  });

  it('a certificate of another authority', async () => {
    const { certificate: other } = await certify();

    await expect(open({ ca: other }).query(WHO)).rejects.toThrow(/self.signed certificate/);
  });

  it('a host with another name in its certificate', async () => {
    await expect(open({ host: '127.0.0.1' }).query(WHO)).rejects.toThrow(/IP: 127.0.0.1 is not in the cert's list/);
  });

  it('a server without TLS', async () => {
    const plain = await startOwnPostgres();

    const asking = open({ port: String(plain.port) }).query(WHO);

    await expect(asking).rejects.toThrow('The server does not support SSL connections');
    await plain.stop();
  });

  it('an unreachable server', async () => {
    await expect(open({ port: '1' }).query(WHO)).rejects.toThrow('ECONNREFUSED');
  });
});

describe('migrate states what to check', () => {
  it.each([
    ['nothing listens', { port: '1' }, 'the database does not respond: check the host and port'],
    ['the host does not exist', { host: 'nowhere.invalid' }, 'the database does not respond: check the host and port'],
    ['the certificate is for another server', { ca: 'other' }, 'lacks the authority of this server'],
    ['the certificate has another name', { host: '127.0.0.1' }, 'by a name that is in its certificate'],
    ['the password is wrong', { arn: 'wrong' }, 'is not a login of this database'],
    ['the database does not exist', { database: 'nothing' }, 'create the database first'],
  ])('when %s', async (_what, login, hint) => {
    const { certificate: other } = await certify();
    const wrong = { username: 'runtime', password: 'wrong', host: 'localhost', port: server.port, dbname: 'millrace' };
    secrets.set('wrong', JSON.stringify(wrong));
    const given = { arn: ARN, ca: certificate, ...login, ...('ca' in login && { ca: other }) };

    const migrating = migrate({ login: secretLogin(given), log });

    await expect(migrating).rejects.toThrow(hint);
    await expect(migrating).rejects.toMatchObject({ name: 'MigrationError' });
  });
});
