import { expect, it } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { createDatabase } from '../../support/database.ts';
import { recordLog } from '../../support/runtime-engine.ts';

it.each([
  ['default_transaction_isolation', 'serializable', 'transaction_isolation', 'read committed'],
  ['jit', 'on', 'jit', 'off'],
  ['statement_timeout', '100ms', 'statement_timeout', '10s'],
  ['idle_in_transaction_session_timeout', '0', 'idle_in_transaction_session_timeout', '10s'],
])('%s of a database does not matter', async (setting, value, name, expected) => {
  const { url, pool, drop } = await createDatabase();
  await pool.query(`alter database ${new URL(url).pathname.slice(1)} set ${setting} = '${value}'`);
  const db = openDatabase({ connectionString: url, max: 1, name: 'test-settings', log: recordLog() });

  const alone = await db.query(`select current_setting('${name}') as value`);
  const within = await db.transaction((tx) => tx.query(`select current_setting('${name}') as value`));

  await db.close();
  await drop();
  expect([alone.rows, within.rows]).toEqual([[{ value: expected }], [{ value: expected }]]);
});
