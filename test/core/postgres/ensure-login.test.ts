import { afterAll, expect, it } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { ensureLogin } from '../../../core/postgres/ensure-login.ts';
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
