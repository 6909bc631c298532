import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Database, openDatabase } from '../../../core/postgres/database.ts';
import { migrate } from '../../../core/postgres/migrate.ts';
import { secretLogin } from '../../../core/postgres/secrets.ts';
import { startSecretsManager } from '../../support/fake-secrets.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { certify, startOwnPostgres, useTls } from '../../support/tls-postgres.ts';

const ARN = 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:runtime-AbCdEf';
const log = recordLog();
const secrets = new Map<string, string>();
const reads = vi.spyOn(secrets, 'get');
const opened: Database[] = [];
let manager: Awaited<ReturnType<typeof startSecretsManager>>;
let server: Awaited<ReturnType<typeof startOwnPostgres>>;
let certificate: string;
let admin: pg.Client;

beforeAll(async () => {
  manager = await startSecretsManager(secrets);
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', manager.endpoint);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  server = await startOwnPostgres();
  const tls = await certify();
  ({ certificate } = tls);
  await useTls(server, tls);
  admin = new pg.Client(server.url);
  await admin.connect();
});

afterAll(async () => {
  await Promise.all(opened.map((db) => db.close()));
  await admin.end();
  await server.stop();
  manager.close();
  vi.unstubAllEnvs();
});

beforeEach(async () => {
  await changePassword('first');
  reads.mockClear();
});

/** Changes the password in the database and in the secret, like a rotation. */
async function changePassword(password: string): Promise<void> {
  await admin.query(`do $$ begin create role runtime login; exception when duplicate_object then null; end $$`);
  await admin.query(`alter role runtime password '${password}'`);
  keep({ username: 'runtime', password, host: 'localhost', port: server.port, dbname: 'millrace' });
}

const keep = (secret: unknown) => secrets.set(ARN, typeof secret === 'string' ? secret : JSON.stringify(secret));

function open(login: Partial<Parameters<typeof secretLogin>[0]> = {}): Database {
  const options = { max: 1, name: 'test', log, connectTimeoutMs: 3000 };
  const db = openDatabase({ login: secretLogin({ arn: ARN, ca: certificate, ...login }), ...options });
  opened.push(db);
  return db;
}

const WHO = `select current_user as name, (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as encrypted`;

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
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'runtime'`,
    );
    const rest = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);

    const { rows } = await db.query(WHO);
    rest.mockRestore();

    expect(rows).toEqual([{ name: 'runtime', encrypted: true }]);
    expect(reads).toHaveBeenCalledTimes(2);
  });

  it('reports a wrong password, and does not read the secret repeatedly', async () => {
    const db = open();
    keep({ username: 'runtime', password: 'wrong', host: 'localhost', port: server.port, dbname: 'millrace' });

    await expect(db.query(WHO)).rejects.toThrow('password authentication failed for user "runtime"');

    expect(reads).toHaveBeenCalledTimes(2);
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
