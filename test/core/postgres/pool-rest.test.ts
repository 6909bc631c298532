import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { createDatabase } from '../../support/database.ts';
import { recordLog } from '../../support/runtime-engine.ts';

const database = await createDatabase();
afterEach(() => vi.restoreAllMocks());

/** A proxy whose connections can be made to drop all data, like a lost route. */
async function openWay() {
  const url = new URL(database.url);
  const { port, hostname } = new URL(database.url);
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const there = connect(Number(port), hostname);
    socket.pipe(there).pipe(socket);
    for (const one of [socket, there]) one.on('error', () => undefined);
    sockets.push(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    connections: () => sockets.length,
    swallow: () => {
      for (const socket of sockets) socket.unpipe().resume();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const PID = 'select pg_backend_pid() as pid';
const rest = () => vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);

it('replaces an idle connection that does not respond', async () => {
  const way = await openWay();
  const db = openDatabase({ connectionString: way.url, max: 1, name: 'test', log: recordLog() });
  const before = await db.query<{ pid: number }>(PID);
  way.swallow();
  rest();

  const after = await db.transaction((tx) => tx.query<{ pid: number }>(PID));
  await db.close();
  way.close();

  expect(way.connections()).toBe(2);
  expect(after.rows[0]?.pid).not.toBe(before.rows[0]?.pid);
});

it('keeps an idle connection that responds', async () => {
  const db = openDatabase({ connectionString: database.url, max: 1, name: 'test', log: recordLog() });
  const before = await db.query<{ pid: number }>(PID);
  rest();

  const after = await db.query<{ pid: number }>(PID);
  await db.close();
  await database.drop();

  expect(after.rows).toEqual(before.rows);
});
