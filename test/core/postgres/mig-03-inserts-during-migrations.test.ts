import { afterAll, describe, expect, it } from 'vitest';
import { migrate } from '../../../core/postgres/migrate.ts';
import { createClient, createDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { folderWith } from './migrations-folder.ts';

const database = await createDatabase();
afterAll(database.drop);

/** What later releases may bring, each while a reader keeps its table busy for a while. */
const LATER = {
  '9001_column.sql': 'alter table millrace.jobs add column later text',
  '9002_check.sql': `alter table millrace.jobs add constraint later check (later <> 'x') not valid`,
  '9003_function.sql': 'create or replace function millrace.later() returns int language sql as $$ select 1 $$',
  '9004_table.sql': 'create table millrace.later (id bigint primary key)',
};

describe('MIG-03', () => {
  it('no insert and no completion waits longer than a second while later files are applied', async () => {
    await database.pool.query(`insert into millrace.jobs (job_type) select 'mail' from generate_series(1, 20000)`);
    const folder = await folderWith(LATER);
    let done = false;
    const waits: number[] = [];
    const timed = async (sql: string) => {
      const started = performance.now();
      await database.pool.query(sql);
      waits.push(performance.now() - started);
      await new Promise((next) => setTimeout(next, 20));
    };
    const load = [
      async () => {
        while (!done) await timed(`insert into millrace.jobs (job_type) values ('mail')`);
      },
      async () => {
        while (!done) await timed('select millrace.cancel((select min(id) from millrace.jobs_live))');
      },
      async () => {
        const reader = await createClient(database.url);
        while (!done) {
          await reader.query('begin; select count(*) from millrace.jobs_live; select pg_sleep(0.5); commit');
          await new Promise((next) => setTimeout(next, 200));
        }
      },
    ].map((run) => run());

    await eventually(() => expect(waits.length).toBeGreaterThan(5));
    const { applied } = await migrate({ connectionString: database.url, folder, log: recordLog() });
    done = true;
    await Promise.all(load);

    expect(applied).toHaveLength(4);
    expect(Math.max(...waits)).toBeLessThan(1000);
  });
});
