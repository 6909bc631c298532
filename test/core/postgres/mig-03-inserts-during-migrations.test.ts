import { afterAll, describe, expect, it } from 'vitest';
import { migrate } from '../../../core/postgres/migrate.ts';
import { createClient, createDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { folderWith } from './migrations-folder.ts';

const database = await createDatabase();
afterAll(database.drop);

/** Migrations such as later releases may add. */
const LATER = {
  '9001_column.sql': 'alter table millrace.jobs add column later text',
  '9002_check.sql': `alter table millrace.jobs add constraint later check (later <> 'x') not valid`,
  '9003_function.sql': 'create or replace function millrace.later() returns int language sql as $$ select 1 $$',
  '9004_table.sql': 'create table millrace.later (id bigint primary key)',
};

describe('MIG-03', () => {
  it('inserts and completions succeed while a migration waits for a long-running reader', async () => {
    await database.pool.query(`insert into millrace.jobs (job_type) select 'mail' from generate_series(1, 100)`);
    const folder = await folderWith(LATER);
    const reader = await createClient(database.url);
    await reader.query('begin; select count(*) from millrace.jobs_live');

    const migration = migrate({ connectionString: database.url, folder, log: recordLog() });
    await eventually(async () => {
      const { rows } = await database.pool.query('select from pg_locks where not granted');
      expect(rows).toHaveLength(1);
    });
    // If the migration kept waiting for its lock, these statements would wait behind it until the reader ends.
    await database.pool.query(`insert into millrace.jobs (job_type) values ('mail')`);
    await database.pool.query('select millrace.cancel((select min(id) from millrace.jobs_live))');
    await reader.query('commit');
    const { applied } = await migration;

    expect(applied).toHaveLength(4);
  });
});
