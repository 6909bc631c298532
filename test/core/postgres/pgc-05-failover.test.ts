import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { releaseUnconfirmed } from '../../../core/jobs/release.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { deploy, insertJobs, markRunning, openEngine, recordLog, statuses } from '../../support/runtime-engine.ts';

const engine = await openEngine({ connections: 2 });
const { pool, db } = engine;
await deploy(db, { jobType: 'mail' });
afterAll(() => engine.close());

const pidOf = async () => (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;

/** A server that refuses every connection with one SQLSTATE, such as during its start or stop. */
async function startRefusing(code: string): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mnot now\0\0`);
      const head = Buffer.alloc(5, 'E');
      head.writeInt32BE(fields.length + 4, 1);
      socket.end(Buffer.concat([head, fields]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`;
}

describe('PGC-05', () => {
  it('connections to a server that became read-only are closed, and work resumes', async () => {
    const [running] = await insertJobs(pool, 'mail', 1);
    await claim(db, 1);
    await markRunning(pool, [running!]);
    await insertJobs(pool, 'mail', 3);
    const name = new URL(engine.test.url).pathname.slice(1);
    await pool.query(`alter database ${name} set default_transaction_read_only = on`);
    await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = '${name}' and application_name = 'test-engine'`,
    );
    await db.query('select 1').catch(() => undefined);

    const failures: unknown[] = [];
    for (let n = 0; n < 4; n++) failures.push(await claim(db, 10).catch((error: { code?: string }) => error.code));
    failures.push(await releaseUnconfirmed(db, 60).catch((error: { code?: string }) => error.code));
    await pool.query('begin read write').catch(() => undefined);
    await pool.query(`set transaction_read_only = off`).catch(() => undefined);
    await pool.query('commit').catch(() => undefined);
    await pool.query(`alter database ${name} reset default_transaction_read_only`);
    const jobs = await claim(db, 10);

    expect(failures).toEqual(['25006', '25006', '25006', '25006', '25006']);
    expect(jobs).toHaveLength(3);
    expect(await statuses(pool)).toEqual({ running: 1, dispatched: 3 });
    const { rows } = await pool.query('select sum(attempts)::int as attempts from millrace.jobs_live');
    expect(rows).toEqual([{ attempts: 1 }]);
  });

  it.each(['25006', '57P01', '57P02', '57P03', '08006', '08003'])(
    'a connection that reports %s is not used again',
    async (code) => {
      const before = await pidOf();

      const failing = db.query(`do $$ begin raise exception 'x' using errcode = '${code}'; end $$`);

      await expect(failing).rejects.toMatchObject({ code });
      expect(await pidOf()).not.toBe(before);
    },
  );

  it.each(['57P03', '08006', '53300'])(
    'a server that refuses connections with %s fails the call and not the process',
    async (code) => {
      const log = recordLog();
      const refused = openDatabase({ connectionString: await startRefusing(code), max: 1, name: 'x', log });
      onTestFinished(() => refused.close());

      await expect(refused.query('select 1')).rejects.toMatchObject({ code });
      await expect(refused.transaction((tx) => tx.query('select 1'))).rejects.toMatchObject({ code });
    },
  );
});
