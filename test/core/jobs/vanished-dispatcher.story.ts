import { connect, createServer, type Socket } from 'node:net';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { eventually } from '../../support/eventually.ts';
import { deploy, insertJobs, openEngine, recordLog } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

/** Forwards a connection until the client sends a text, then nothing more in either direction. It closes nothing. */
async function startSilentProxy(last: string): Promise<string> {
  const target = new URL(engine.runtimeUrl);
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let isSilent = false;
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (chunk) => {
      isSilent ||= chunk.toString('latin1').includes(last);
      if (!isSilent) upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!isSilent) client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = new URL(engine.runtimeUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as { port: number }).port);
  return url.href;
}

it.each([
  ['between the two statements of a claim', 'with turn as'],
  ['before the commit of a claim', 'commit\0'],
])('a dispatcher that vanishes %s does not stop the others', async (_moment, last) => {
  await pool.query('delete from millrace.jobs_live');
  await deploy(db, { jobType: 'mail' });
  await insertJobs(pool, 'mail', 5);
  const vanished = openDatabase({
    ...{ connectionString: await startSilentProxy(last), max: 1, name: 'vanished', log: recordLog() },
  });
  void claim(vanished, 10).catch(() => undefined);
  await eventually(async () => {
    const { rows } = await pool.query(`select from pg_stat_activity
      where application_name = 'vanished' and state = 'idle in transaction'`);
    expect(rows).toHaveLength(1);
  });
  const meanwhile = await claim(db, 10);

  const claimed = await eventually(async () => {
    const jobs = await claim(db, 10);
    expect(jobs).toHaveLength(5);
    return jobs;
  });

  expect(meanwhile).toEqual([]);
  expect(claimed).toHaveLength(5);
  await vanished.close();
});
