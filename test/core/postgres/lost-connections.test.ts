import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { createDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { recordLog } from '../../support/runtime-engine.ts';
import { startProxy } from '../../support/silent-proxy.ts';

// An error event without a listener would end the process, which fails the run.
const database = await createDatabase({ migrated: false });
afterAll(() => database.drop());
afterEach(() => vi.restoreAllMocks());

const rest = () => vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);

/** Opens a pool behind a proxy that resets a connection at its next bytes if its number is in `doomed`. */
async function openDoomed({ max }: { max: number }) {
  const doomed = new Set<number>();
  const proxy = await startProxy(database.url, (_chunk, connection) => !doomed.has(connection), 'reset');
  const db = openDatabase({ connectionString: proxy.url, max, name: 'doomed', log: recordLog() });
  onTestFinished(() => db.close());
  const one = async () => (await db.query<{ one: number }>('select 1 as one')).rows;
  return { db, doomed, proxy, one };
}

it('an idle connection that ends while it is tested is replaced', async () => {
  const { doomed, proxy, one } = await openDoomed({ max: 1 });
  await one();
  doomed.add(1);
  rest();

  expect(await one()).toEqual([{ one: 1 }]);
  expect(proxy.connections()).toBe(2);
});

it('an idle connection is replaced even if all other connections end as well', async () => {
  const { db, doomed, proxy, one } = await openDoomed({ max: 3 });
  await Promise.all([1, 2, 3].map(() => db.query('select pg_sleep(0.1)')));
  expect(proxy.connections()).toBe(3);
  for (const connection of [1, 2, 3]) doomed.add(connection);
  rest();

  expect(await one()).toEqual([{ one: 1 }]);
  expect(proxy.connections()).toBe(4);
});

it('a replacement that ends while it connects fails the statement, but not the next statement', async () => {
  const { doomed, one } = await openDoomed({ max: 1 });
  await one();
  doomed.add(1).add(2);
  rest();

  await expect(one()).rejects.toThrow();
  expect(await one()).toEqual([{ one: 1 }]);
});

it.each(['at its next statement', 'at once'])(
  'a transaction whose connection ends between two statements fails %s, but the next transaction succeeds',
  async (when) => {
    const { db, doomed, proxy, one } = await openDoomed({ max: 1 });

    const failing = db.transaction(async (tx) => {
      await tx.query('select 1');
      if (when === 'at once') proxy.cut();
      else doomed.add(1);
      await new Promise((next) => setTimeout(next, 50));
      return tx.query('select 2');
    });

    await expect(failing).rejects.toThrow();
    expect(await one()).toEqual([{ one: 1 }]);
  },
);

it('a transaction whose connection ends while its code waits for something else is not committed', async () => {
  const { db, proxy, one } = await openDoomed({ max: 1 });

  const failing = db.transaction(async (tx) => {
    await tx.query('create table public.never ()');
    proxy.cut();
    await new Promise((next) => setTimeout(next, 50));
  });

  await expect(failing).rejects.toThrow();
  expect(await one()).toEqual([{ one: 1 }]);
  expect((await db.query("select to_regclass('public.never') as found")).rows).toEqual([{ found: null }]);
});

it('a connection that ends while idle is replaced', async () => {
  const { proxy, one } = await openDoomed({ max: 2 });
  await Promise.all([one(), one()]);

  proxy.cut();
  await new Promise((next) => setTimeout(next, 50));

  expect(await one()).toEqual([{ one: 1 }]);
});

it('a client whose login fails closes its connection, before the server gives up', async () => {
  const url = new URL(database.url);
  const port = Number(url.port);
  const closers: string[] = [];
  const server = createServer((client: Socket) => {
    const upstream = connect(port, url.hostname);
    client.pipe(upstream).pipe(client);
    client.once('close', () => closers.push('client'));
    upstream.once('end', () => closers.push('server'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  url.port = String((server.address() as AddressInfo).port);
  url.password = '';
  const db = openDatabase({ connectionString: url.href, max: 1, name: 'refused', log: recordLog() });

  await expect(db.query('select 1')).rejects.toThrow(/password/);

  await eventually(() => expect(closers).not.toEqual([]), { timeout: 100_000 });
  expect(closers[0]).toBe('client');
  await db.close();
});
