import pg from 'pg';
import { vi } from 'vitest';
import { type Database, openDatabase } from '../../../core/postgres/database.ts';
import { secretLogin } from '../../../core/postgres/secrets.ts';
import { startSecretsManager } from '../../support/fake-secrets.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { certify, startOwnPostgres, useTls } from '../../support/tls-postgres.ts';

export const ARN = 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:runtime-AbCdEf';
export const WHO = `select current_user as name,
  (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as encrypted`;

const { now } = Date;

/** Starts a Postgres with TLS, and a Secrets Manager with the secret of the login `runtime`. */
export async function openSecretServer() {
  const secrets = new Map<string, string>();
  const manager = await startSecretsManager(secrets);
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', manager.endpoint);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  const server = await startOwnPostgres();
  const tls = await certify();
  const { certificate } = tls;
  await useTls(server, tls);
  const admin = new pg.Client(server.url);
  await admin.connect();
  await admin.query('create role runtime login');
  const log = recordLog();
  const opened: Database[] = [];

  const setPassword = (password: string) => admin.query(`alter role runtime password '${password}'`);
  /** Stores the password in a version of the secret. */
  const keepPassword = (password: string, version = ''): void => {
    const secret = { username: 'runtime', password, host: 'localhost', port: server.port, dbname: 'millrace' };
    secrets.set(`${ARN}${version}`, JSON.stringify(secret));
  };
  /** Changes the password in the database and in the secret, like a rotation. */
  const changePassword = async (password: string): Promise<void> => {
    await setPassword(password);
    keepPassword(password);
  };
  const reset = async (): Promise<void> => {
    Date.now = now;
    secrets.clear();
    await changePassword('first');
  };
  /** Ends the connections of the login, which a change of its password does not, and lets the pool rest. */
  const disconnect = async (): Promise<void> => {
    const rested = Date.now() + 60_000;
    Date.now = () => rested;
    await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and usename = 'runtime'`);
  };
  const open = (login: Partial<Parameters<typeof secretLogin>[0]> = {}): Database => {
    const options = { max: 1, name: 'test', log, connectTimeoutMs: 3000 };
    const db = openDatabase({ login: secretLogin({ arn: ARN, ca: certificate, ...login }), ...options });
    opened.push(db);
    return db;
  };
  const close = async (): Promise<void> => {
    Date.now = now;
    await Promise.all(opened.map((db) => db.close()));
    await admin.end();
    await server.stop();
    manager.close();
    vi.unstubAllEnvs();
  };
  return {
    secrets,
    server,
    certificate,
    admin,
    setPassword,
    keepPassword,
    changePassword,
    reset,
    disconnect,
    open,
    close,
  };
}
