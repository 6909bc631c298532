import { beforeEach, expect, it } from 'vitest';
import { emptyTables } from '../../../core/testing/empty-tables.ts';
import { openBothWays } from './api-world.ts';

const { pool, byApi, byDatabase, keyOf } = await openBothWays();

beforeEach(async () => {
  await emptyTables(pool);
  await pool.query(`insert into millrace.jobs (job_type, payload, group_key)
    select 'mail', jsonb_build_object('customer', n % 2), 'acme' from generate_series(1, 4) n`);
});

it.each([
  [['jobs', 'list', '--payload', 'customer=1', '--json']],
  [['jobs', 'list', '--group-key', 'acme', '--attempts-to', '0', '--json']],
  [['jobs', 'list', '--attempts-from', '2', '--attempts-to', '1']],
  [['jobs', 'list', '--group', 'abcd']],
  [['jobs', 'cancel', '--payload', 'customer=1', '--created-to', '0s', '--dry-run']],
  [['jobs', 'cancel', '--payload', 'customer=3', '--yes']],
  [['operations']],
  [['operations', 'show', '4711']],
])('both ways answer the same: %j', async (args) => {
  const [database, api] = [await byDatabase(args), await byApi(args)];

  const withoutHint = api.stderr.replace(/^API: .*\n/, '');
  expect([api.code, api.stdout]).toEqual([database.code, database.stdout]);
  if (api.code !== 2) expect(withoutHint).toBe(database.stderr);
});

it('an operation over the API is worked off by the dispatcher, and looks the same both ways', async () => {
  const done = await byApi(['jobs', 'cancel', '--payload', 'customer=1', '--reason', 'why', '--yes', '--json']);
  const { id } = JSON.parse(done.stdout);
  const [database, api] = [
    await byDatabase(['operations', 'show', id, '--json']),
    await byApi(['operations', '--json']),
  ];

  expect(JSON.parse(done.stdout)).toMatchObject({ status: 'done', done: 2, expected: 2, left: {}, reason: 'why' });
  expect(JSON.parse(database.stdout)).toEqual({ ...JSON.parse(done.stdout), requested_by: expect.any(String) });
  expect(JSON.parse(api.stdout).items).toEqual([JSON.parse(database.stdout)]);
});

it('a caller without payload:read may not filter by payload', async () => {
  const key = await keyOf(['jobs:read', 'jobs:operate']);

  expect((await byApi(['jobs', 'cancel', '--payload', 'customer=1', '--yes'], key)).code).toBe(4);
});
