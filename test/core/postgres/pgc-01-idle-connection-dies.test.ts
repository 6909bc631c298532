import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { createDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { recordLog } from '../../support/runtime-engine.ts';

const { url, pool, drop } = await createDatabase();
afterAll(drop);

describe('PGC-01', () => {
  it.each(['dispatcher', 'handler', 'api', 'watch'])(
    'the pool of a %s survives the loss of an idle connection',
    async (name) => {
      const log = recordLog();
      const db = openDatabase({ connectionString: url, max: 1, name: `pgc-01-${name}`, log });
      onTestFinished(() => db.close());
      const pid = async () => (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
      const before = await pid();

      await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = $1`,
        [`pgc-01-${name}`],
      );
      await eventually(() => expect(log.events('database_connection_lost')).toHaveLength(1));
      const after = await pid();

      expect(after).not.toBe(before);
      expect(log.events('database_connection_lost')).toMatchObject([{ level: 'warn' }]);
    },
  );

  it('a connection lost during a statement fails only that statement', async () => {
    const log = recordLog();
    const db = openDatabase({ connectionString: url, max: 1, name: 'pgc-01-busy', log });
    onTestFinished(() => db.close());

    const busy = db.query('select pg_sleep(30)').catch((error: unknown) => error);
    await eventually(async () => {
      const { rows } = await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = 'pgc-01-busy' and query like '%sleep%'`,
      );
      expect(rows).toHaveLength(1);
    });

    expect(await busy).toMatchObject({ code: '57P01' });
    expect((await db.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});
