import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLog } from '../../../core/log.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { deploy } from '../../support/runtime-engine.ts';
import { runCli } from '../run-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
  const db = openDatabase({ connectionString: database.url, max: 1, name: 'test', log: openLog(() => undefined) });
  await deploy(db, { jobType: 'send_otp' }, { jobType: 'index_record', routingKey: 'text' });
  await db.close();
});
afterAll(() => database.drop());

const create = (name: string, ...args: string[]) =>
  runCli(['schedules', 'create', name, ...args, '--every', '1h'], { env: { DATABASE_URL: database.url } });

it.each([
  [
    'a misspelt job type',
    'one',
    ['send_opt'],
    'no handler for send_opt is registered; its jobs will wait; did you mean send_otp?',
  ],
  [
    'a missing routing key',
    'two',
    ['index_record'],
    'no handler for index_record is registered; its jobs will wait; did you mean index_record --routing-key text?',
  ],
  ['an unknown job type', 'three', ['charge_card'], 'no handler for charge_card is registered; its jobs will wait\n'],
])('schedules create warns of %s, and creates the schedule', async (_what, ...[name, args, warning]) => {
  const { code, stdout, stderr } = await create(name, ...args);

  expect([code, stdout]).toEqual([0, `${name}\n`]);
  expect(stderr).toContain(`warning: ${warning}`);
});

it('schedules create does not warn about a registered handler', async () => {
  const { stderr } = await create('four', 'index_record', '--routing-key', 'text');

  expect(stderr).not.toContain('warning');
});
