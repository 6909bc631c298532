import { expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../core/postgres/migrate.ts';
import { createClient, createDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { folderWith } from './migrations-folder.ts';

const SLOW = `-- outside a transaction
create index concurrently if not exists jobs_live_group on millrace.jobs_live (group_key);
`;
/** Longer than the server's limit on a silent transaction. */
const LONG_MS = 25_000;

it('a long index build keeps the migration lock until it is recorded', async () => {
  const database = await createDatabase();
  onTestFinished(database.drop);
  const folder = await folderWith({ '9001_slow.sql': SLOW });
  const older = await createClient(database.url);
  await older.query('begin isolation level repeatable read; select from millrace.jobs_live limit 1');
  const log = recordLog();

  const first = migrate({ connectionString: database.url, folder, log });
  await eventually(async () => {
    const { rows } = await database.pool.query('select from pg_stat_progress_create_index');
    expect(rows).toHaveLength(1);
  });
  const second = migrate({ connectionString: database.url, folder, log });
  await new Promise((next) => setTimeout(next, LONG_MS));
  const waits = log.events('migration_waiting').length;
  await older.query('rollback');

  expect([(await first).applied, (await second).applied]).toEqual([['9001_slow'], []]);
  expect(waits).toBeGreaterThan(0);
});
