import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Database, openDatabase } from '../../../core/postgres/database.ts';
import { errorCode } from '../../../core/postgres/statement-errors.ts';
import { createDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { startProxy } from '../../support/silent-proxy.ts';

const { url, pool, drop } = await createDatabase();
afterAll(drop);

function open(options: { connectionString?: string; statementTimeoutMs?: number; max?: number } = {}) {
  const log = recordLog();
  const db = openDatabase({ connectionString: url, max: 1, name: 'test-database', log, ...options });
  onTestFinished(() => db.close());
  return { db, log };
}
const pidOf = async (db: Database) => (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
const sessions = async (state: string): Promise<number> =>
  (
    await pool.query(
      `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and application_name = 'test-database' and state like $1`,
      [state],
    )
  ).rows[0].n;
const raise = (code: string) => `do $$ begin raise exception 'x' using errcode = '${code}'; end $$`;

describe('a transaction', () => {
  it('commits its work and returns the value', async () => {
    const { db } = open();
    await pool.query('create table if not exists public.kept (n int)');

    const value = await db.transaction(async (tx) => {
      await tx.query('insert into public.kept values ($1)', [1]);
      return 'done';
    });

    expect(value).toBe('done');
    expect((await pool.query('select * from public.kept')).rows).toEqual([{ n: 1 }]);
  });

  it.each([
    ['a statement', (tx: Database | { query: Database['query'] }) => tx.query('select 1/0'), '22012'],
    ['the work itself', () => Promise.reject(new Error('mine')), undefined],
  ])('is rolled back when %s fails, and throws the error', async (_what, fail, code) => {
    const { db } = open();
    await pool.query('create table if not exists public.undone (n int)');

    const outcome = db.transaction(async (tx) => {
      await tx.query('insert into public.undone values (1)');
      await fail(tx);
    });

    const error = await outcome.catch((reason: unknown) => reason);
    expect(errorCode(error)).toBe(code);
    expect((await pool.query('select * from public.undone')).rows).toEqual([]);
    await eventually(async () => expect(await sessions('idle in transaction%')).toBe(0));
    expect((await db.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('closes its connection when the rollback failed', async () => {
    const proxy = await startProxy(url, (chunk) => !chunk.includes('rollback'));
    const { db } = open({ connectionString: proxy.url, statementTimeoutMs: 300 });
    const pid = await pidOf(db);

    const outcome = db.transaction(async (tx) => {
      await tx.query('select 1/0');
    });

    await expect(outcome).rejects.toThrow('a failed transaction could not be rolled back');
    expect(await pidOf(db)).not.toBe(pid);
  });

  it('throws when the response to its commit is lost, and does not run again', async () => {
    let runs = 0;
    const proxy = await startProxy(url, (chunk) => runs === 0 || !chunk.includes('commit'));
    const { db } = open({ connectionString: proxy.url, statementTimeoutMs: 300 });

    const outcome = db.transaction(async () => {
      runs += 1;
    });

    await expect(outcome).rejects.toThrow(/timeout/);
    expect(runs).toBe(1);
  });
});

describe('a statement that fails', () => {
  it.each(['40001', '40P01', '55P03'])('with %s is repeated', async (code) => {
    const { db } = open();
    let runs = 0;

    const value = await db.transaction(async (tx) => {
      runs += 1;
      if (runs < 4) await tx.query(raise(code));
      return runs;
    });

    expect(value).toBe(4);
  });

  it('because it waited longer for a lock than its own limit is not repeated', async () => {
    const { db } = open();
    let runs = 0;

    const alone = db.limited({ lockMs: 100 }).query(raise('55P03'));
    const outcome = db.transaction(
      async (tx) => {
        runs += 1;
        await tx.query(raise('55P03'));
      },
      { lockMs: 100 },
    );

    await expect(alone).rejects.toMatchObject({ code: '55P03' });
    await expect(outcome).rejects.toMatchObject({ code: '55P03' });
    expect(runs).toBe(1);
  });

  it('is repeated at most five times', async () => {
    const { db } = open();
    let runs = 0;

    const outcome = db.transaction(async (tx) => {
      runs += 1;
      await tx.query(raise('40001'));
    });

    await expect(outcome).rejects.toMatchObject({ code: '40001' });
    expect(runs).toBe(5);
  });

  it.each(['23505', '22P02', '42P01', 'P0001'])('with %s is not repeated', async (code) => {
    const { db } = open();
    let runs = 0;

    const outcome = db.transaction(async (tx) => {
      runs += 1;
      await tx.query(raise(code));
    });

    await expect(outcome).rejects.toMatchObject({ code });
    expect(runs).toBe(1);
  });
});

describe('errorCode', () => {
  it.each([
    [{ code: '23505' }, '23505'],
    [{ code: 'P0001' }, 'P0001'],
    [{ code: 'HV00A' }, 'HV00A'],
    [{ code: 'EPIPE' }, undefined],
    [{ code: 'ECONNREFUSED' }, undefined],
    [{ code: 40001 }, undefined],
    [new Error('none'), undefined],
    [null, undefined],
    ['40001', undefined],
  ])('of %j returns %s', (error, expected) => {
    expect(errorCode(error)).toBe(expected);
  });
});

it('the server ends a statement at its time limit, and the connection can be used again', async () => {
  const { db } = open({ statementTimeoutMs: 200 });
  const pid = await pidOf(db);

  await expect(db.query('select pg_sleep(60)')).rejects.toMatchObject({ code: '57014' });
  const work = db.transaction((tx) => tx.query('select pg_sleep(60)'));
  await expect(work).rejects.toMatchObject({ code: '57014' });

  expect(await pidOf(db)).toBe(pid);
});

it('the server ends a transaction whose client sends nothing more, and the connection is closed', async () => {
  const { db } = open();
  const pid = await pidOf(db);

  const work = db.transaction(
    async (tx) => {
      await tx.query('select');
      await eventually(async () => expect(await sessions('%')).toBe(0));
      await tx.query('select');
    },
    { idleMs: 100 },
  );

  await expect(work).rejects.toThrow();
  expect(await pidOf(db)).not.toBe(pid);
});

it('a transaction whose work hides a failed statement is an error, not a success', async () => {
  const { db } = open();
  const work = db.transaction(async (tx) => {
    await tx.query('select 1 / 0').catch(() => undefined);
  });

  await expect(work).rejects.toThrow('the transaction was rolled back');
});
