import { afterAll, expect, it } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { migrate } from '../../../core/postgres/migrate.ts';
import { withLedger } from '../../../core/postgres/migration-lock.ts';
import { createClient, createDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { createLogin, recordLog } from '../../support/runtime-engine.ts';

const test = await createDatabase();
const app = await createLogin(test, 'millrace_app');
const operator = await createLogin(test, 'millrace_operator');
afterAll(async () => {
  await test.drop();
  await app.drop();
  await operator.drop();
});

it.each([
  ['an advisory lock of any number', "select pg_try_advisory_lock(hashtextextended('millrace.migrations', 0))"],
  ['a row lock of the jobs', 'begin; select count(*) from millrace.jobs'],
  ['the lock of a reader of the ledger', 'begin; select * from millrace.migrations'],
])('a login without rights cannot delay a migration with %s', async (_what, statement) => {
  for (const { url } of [app, operator]) {
    const client = await createClient(url);
    // A refused statement locks nothing.
    await client.query(statement).catch(() => undefined);
  }
  const log = recordLog();

  const { applied } = await migrate({ connectionString: test.url, log });

  expect(applied).toEqual([]);
  expect(log.events('migration_waiting')).toEqual([]);
});

it.each(['share update exclusive', 'access exclusive'])(
  'names the session that locks the ledger in %s mode, and continues when the lock is released',
  async (mode) => {
    const holder = await createClient(`${test.url}?application_name=forgotten`);
    await holder.query(`begin; lock table millrace.migrations in ${mode} mode`);
    const { rows } = await holder.query('select pg_backend_pid() as pid, current_user as user');
    const log = recordLog();
    const db = openDatabase({ connectionString: test.url, max: 1, name: 'waits', log });

    const waiting = withLedger(db, log, async () => 'done', { waitMs: 50, pauseMs: 0, tries: 1e6 });
    const [line] = await eventually(() => {
      const lines = log.events('migration_waiting');
      expect(lines.length).toBeGreaterThan(1);
      return lines;
    });
    await holder.query('rollback');

    expect(line?.reason).toBe(
      `session ${rows[0].pid} (user ${rows[0].user}, application forgotten) has the migration lock`,
    );
    expect(await waiting).toBe('done');
    await db.close();
  },
);

it('gives up after its limit, and states how to release the lock', async () => {
  const holder = await createClient(`${test.url}?application_name=forgotten`);
  await holder.query('begin; lock table millrace.migrations');
  const log = recordLog();
  const db = openDatabase({ connectionString: test.url, max: 1, name: 'waits', log });

  const refused = withLedger(db, log, async () => 'done', { waitMs: 20, pauseMs: 0, tries: 3 });

  await expect(refused).rejects.toThrow(
    /^session \d+ \(user \w+, application forgotten\) .*pg_terminate_backend\(\d+\)/,
  );
  expect(log.events('migration_waiting')).toHaveLength(3);
  await db.close();
});
