import { afterAll, beforeEach, expect, it } from 'vitest';
import { openSecretServer, WHO } from './secret-server.ts';

const { admin, setPassword, keepPassword, changePassword, reset, disconnect, open, close } = await openSecretServer();
afterAll(close);
beforeEach(reset);

it('a login uses the new password before its version becomes the current one, in a new process too', async () => {
  const running = open();
  await running.query(WHO);
  keepPassword('second', ' AWSPENDING');
  const early = await open().query(WHO);
  await setPassword('second');
  await disconnect();

  const during = [await running.query(WHO), await open().query(WHO)];
  keepPassword('first', ' AWSPREVIOUS');
  keepPassword('second');
  await disconnect();
  const after = [await running.query(WHO), await open().query(WHO)];

  expect([early, ...during, ...after].map(({ rows }) => rows[0]?.name)).toEqual(Array(5).fill('runtime'));
});

it('a login uses the previous password if a deployment has set it again during the rotation', async () => {
  keepPassword('second');
  keepPassword('first', ' AWSPREVIOUS');

  const { rows } = await open().query(WHO);

  expect(rows).toHaveLength(1);
});

it('no query waits for a connection of a pool whose password the server refuses', async () => {
  const db = open();
  await db.query(WHO);
  await changePassword('second');
  await disconnect();

  const queries = await Promise.all(Array.from({ length: 10 }, () => db.query(WHO)));

  expect(queries.flatMap(({ rows }) => rows)).toHaveLength(10);
  const { rows } = await admin.query(`select count(*)::int as count from pg_stat_activity
    where datname = current_database() and usename = 'runtime'`);
  expect(rows).toEqual([{ count: 1 }]);
});
