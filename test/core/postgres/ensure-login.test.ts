import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { ensureLogin, verifierOf } from '../../../core/postgres/ensure-login.ts';
import { createClient, createDatabase } from '../../support/database.ts';
import { recordLog } from '../../support/runtime-engine.ts';

const { url, pool, drop } = await createDatabase();
const db = openDatabase({ connectionString: url, max: 1, name: 'logins', log: recordLog() });
const made: string[] = [];
afterAll(async () => {
  await db.close();
  for (const name of made) await pool.query(`drop role ${name}`);
  await drop();
});

const SETTINGS = {
  idle_session_timeout: '10min',
  idle_in_transaction_session_timeout: '15s',
  statement_timeout: '35s',
  transaction_timeout: '1min',
  jit: 'off',
  client_connection_check_interval: '5s',
  tcp_keepalives_idle: '30',
  tcp_user_timeout: '10000',
};

/** Creates a login, and returns the settings of a new session of this login outside the pool. */
async function settingsOf(name: string, role: 'millrace_runtime' | 'millrace_app', times = 1) {
  made.push(name);
  for (let time = 0; time < times; time++) await ensureLogin(db, { name, password: `secret ${time}`, role });
  const address = new URL(url);
  address.username = name;
  address.password = `secret ${times - 1}`;
  const client = await createClient(address.href);
  const { rows } = await client.query<{ name: string; value: string }>(
    'select name, current_setting(name) as value from pg_settings where name = any($1)',
    [Object.keys(SETTINGS)],
  );
  return Object.fromEntries(rows.map((row) => [row.name, row.value]));
}

it.each([1, 2])(
  'a login of functions that was created %d times has limits that end the sessions of vanished clients',
  async (times) => {
    const { rows } = await pool.query('select name from pg_settings');
    const known = new Set(rows.map(({ name }) => name));

    const settings = await settingsOf(`made_${times}`, 'millrace_runtime', times);

    // Postgres has `transaction_timeout` since version 17.
    expect(settings).toEqual(Object.fromEntries(Object.entries(SETTINGS).filter(([name]) => known.has(name))));
  },
);

it('a login of applications keeps the limits of its own statements', async () => {
  const settings = await settingsOf('made_app', 'millrace_app');

  expect(settings.statement_timeout).toBe('0');
  expect(settings.idle_session_timeout).toBe('0');
});

const PASSWORDS = [
  ['letters and digits', 'k8Jq2vXwLm4Rt7Zp'],
  ['quotes and a backslash', `it's "\\" $1`],
  ['letters outside ASCII', 'pässwörd'],
  ['a letter and a combining accent', 'passe\u0301'],
  ['a ligature, a wide space and a soft hyphen', '\uFB01le\u3000na\u00ADme'],
  ['an emoji', 'p🔑'],
  ['what Postgres could store as a verifier', 'md5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'],
] as const;

it.each(PASSWORDS.slice(0, -1))('computes the verifier that Postgres computes of %s', async (_what, password) => {
  const name = `plain_${PASSWORDS.findIndex(([, one]) => one === password)}`;
  made.push(name);
  const { rows: statements } = await pool.query(`select format('create role %I password %L', $1::text, $2::text)`, [
    name,
    password,
  ]);
  await pool.query(statements[0].format);
  const { rows } = await pool.query('select rolpassword as stored from pg_authid where rolname = $1', [name]);
  const [, salt = ''] = /^SCRAM-SHA-256\$4096:([^$]+)/.exec(rows[0].stored) ?? [];

  const verifier = await verifierOf(password, Buffer.from(salt, 'base64'));

  expect(verifier).toBe(rows[0].stored);
});

it.each(PASSWORDS)('logs in with a password of %s', async (_what, password) => {
  const name = `any_${PASSWORDS.findIndex(([, one]) => one === password)}`;
  made.push(name);

  await ensureLogin(db, { name, password, role: 'millrace_app' });

  const { hostname: host, port, pathname } = new URL(url);
  const client = new pg.Client({ host, port: Number(port), database: pathname.slice(1), user: name, password });
  await client.connect();
  await client.end();
});
