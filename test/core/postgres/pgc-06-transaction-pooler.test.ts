import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { decodeMessage } from '../../../core/aws/message.ts';
import { type DispatcherSettings, runDispatcher } from '../../../core/dispatch/dispatcher.ts';
import { cancel } from '../../../core/jobs/cancel.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import { type Database, openDatabase, type Queryable } from '../../../core/postgres/database.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { migrate } from '../../../core/postgres/migrate.ts';
import { systemTime } from '../../../core/time.ts';
import { createClient, createDatabase } from '../../support/database.ts';
import { deploy, insertJobs, memoryQueues, openEngine, recordLog, statuses } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool } = engine;
afterAll(() => engine.close());

const CORE = new URL('../../../core', import.meta.url).pathname;
const MIGRATIONS = new URL('../../../migrations', import.meta.url).pathname;

const FORBIDDEN: [string, RegExp][] = [
  ['listen', /(^|[`;'"]\s*)(un)?listen\s/im],
  [
    'a setting of the session',
    /(^|[`;'"]\s*)(re)?set\s+(?!local\b|transaction\b)(session\s|role\s|\w+(\.\w+)?\s*(=|to)\s)/im,
  ],
  ['a session advisory lock', /pg_(try_)?advisory_(lock|unlock)/i],
  ['a prepared statement', /(^|[`;'"]\s*)(prepare|deallocate)\s/im],
  ['a named statement', /query\(\{[^}]*\bname:/],
  ['a temporary table', /create\s+(local\s+|global\s+)?temp/i],
  ['a cursor that outlives its transaction', /cursor\s+with\s+hold/i],
];

function sources(): [string, string][] {
  const files = (folder: string, end: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(end))
      .map((name): [string, string] => [name, readFileSync(join(folder, name), 'utf8')]);
  // A function's own settings end with the function, and `set local` ends with the transaction.
  const sql = files(MIGRATIONS, '.sql').map(([name, text]): [string, string] => [
    name,
    text.replace(/\bset\s+(search_path|lock_timeout)\s*=\s*[^\n]*/g, '').replace(/^\s+set \w+ =/gm, ''),
  ]);
  const code = files(CORE, '.ts').map(([name, text]): [string, string] => [name, text.replace(/^\s+set \w+ =/gm, '')]);
  return [...code, ...sql];
}

/** Runs each statement or transaction on any free one of two connections, and then resets its session. */
async function throughPooler(url: string): Promise<Database> {
  const connections = await Promise.all([createClient(url), createClient(url)]);
  let turn = 0;
  let last: Promise<unknown> = Promise.resolve();
  const take = <T>(work: (tx: Queryable) => Promise<T>): Promise<T> => {
    const client = connections[turn++ % 2]!;
    const next = last.then(async () => {
      const value = await work({
        query: async (text, values) => {
          const { rows, rowCount } = await client.query(text, [...(values ?? [])]);
          return { rows, rowCount: rowCount ?? 0 };
        },
      });
      await client.query('discard all');
      return value;
    });
    last = next.catch(() => undefined);
    return next;
  };
  const transaction: Database['transaction'] = (work) =>
    take(async (tx) => {
      await tx.query('begin');
      const value = await work(tx);
      await tx.query('commit');
      return value;
    });
  const command = async () => {
    throw new Error('a pooler in transaction mode does not support commands');
  };
  const query: Queryable['query'] = (text, values) => take((tx) => tx.query(text, values));
  return { transaction, command, query, keyed: { query }, limited: () => ({ query }), close: async () => undefined };
}

describe('PGC-06', () => {
  it.each(FORBIDDEN)('no statement of Millrace uses %s', (_what, pattern) => {
    const found = sources().filter(([, text]) => pattern.test(text));

    expect(found.map(([name]) => name)).toEqual([]);
  });

  it.each([
    ['listen', 'await tx.query(`listen jobs`)'],
    ['a setting of the session', 'const X = `set statement_timeout = 5`'],
    ['a setting of the session', 'const X = `set role millrace_owner`'],
    ['a session advisory lock', 'select pg_advisory_lock(1)'],
    ['a named statement', `client.query({ text, name: 'x' })`],
    ['a prepared statement', 'const X = `prepare x as select 1`'],
  ])('finds %s in %s', (what, text) => {
    expect(FORBIDDEN.find(([name]) => name === what)![1].test(text)).toBe(true);
  });

  it('a job runs to its end when every statement uses another session', async () => {
    const db = await throughPooler(engine.runtimeUrl);
    await deploy(db, { jobType: 'mail' });
    const ids = await insertJobs(pool, 'mail', 30);
    const queues = memoryQueues();
    const settings: DispatcherSettings = { mode: 'tick', pollIntervalMs: 1, windowMs: 1 };

    await cancel(db, ids[0]!);
    await runDispatcher({ db, queues, log: recordLog(), time: systemTime, random: () => 0.5 }, settings);
    const requests = queues.sent.map(({ body }, n) => ({ ...decodeMessage(body)!, messageId: `${n}`, sentAt: n }));
    const { answers } = await start(db, {
      jobType: 'mail',
      routingKey: '',
      requestId: 'r',
      requests,
      leaseSeconds: 0,
      suspects: true,
    });
    await settle(
      db,
      requests.map(({ jobId, claimNo }) => ({ jobId, claimNo, outcome: { kind: 'succeeded', result: '{}' } })),
      { requestId: 'r' },
    );

    expect(requests.map(({ epoch }) => epoch)).toContain(await readEpoch(db));
    expect(answers.filter(({ verdict }) => verdict === 'started')).toHaveLength(29);
    expect(await statuses(pool)).toEqual({ succeeded: 29, cancelled: 1 });
  });

  it('leaves no lock, setting or prepared statement in a session', async () => {
    const empty = await createDatabase({ migrated: false });
    await migrate({ connectionString: empty.url, log: recordLog() });
    const { rows } = await empty.pool.query(`select count(*)::int as n from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`);
    await empty.drop();
    const db = openDatabase({ connectionString: engine.runtimeUrl, max: 1, name: 'one', log: recordLog() });
    await db.query('select');
    await db.transaction((tx) => tx.query('select'));
    const left = db.command(`do $$ begin
      assert not exists (select from pg_prepared_statements), 'a prepared statement';
      assert not exists (select from pg_listening_channels()), 'a channel';
      assert not exists (select from pg_settings where source = 'session'), 'a setting';
    end $$`);

    expect(rows).toEqual([{ n: 0 }]);
    await expect(left).resolves.toBeUndefined();
    await db.close();
  });
});
