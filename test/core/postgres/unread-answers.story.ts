import { connect, createServer } from 'node:net';
import { afterAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { start } from '../../../core/jobs/start.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { ensureLogin } from '../../../core/postgres/ensure-login.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { createClient } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
const made = `made_${process.pid}`;
afterAll(async () => {
  await engine.close();
});

const TEN_LARGE_JOBS = `
  insert into millrace.jobs (job_type, payload)
    select 'mail', jsonb_build_object('a', repeat('g', 1000000)) from generate_series(1, 10)`;

beforeEach(async () => {
  await deploy(db, { jobType: 'mail', concurrency: 500 });
  await pool.query('delete from millrace.jobs_live');
  await pool.query(TEN_LARGE_JOBS);
});

/** A proxy to the database that reads nothing more once a client has sent the given text. */
async function startDeafProxy(url: string, last: string): Promise<string> {
  const target = new URL(url);
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (chunk) => {
      if (chunk.includes(last)) upstream.pause();
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => client.write(chunk));
    onTestFinished(() => {
      upstream.destroy();
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const deaf = new URL(url);
  deaf.hostname = '127.0.0.1';
  deaf.port = String((server.address() as { port: number }).port);
  return deaf.href;
}

async function loginOfOurs(): Promise<string> {
  const admin = openDatabase({ connectionString: engine.test.url, max: 1, name: 'admin', log });
  await ensureLogin(admin, { name: made, password: 'secret', role: 'millrace_runtime' });
  await admin.close();
  const url = new URL(engine.test.url);
  url.username = made;
  url.password = 'secret';
  onTestFinished(async () => {
    await pool.query(`drop role ${made}`);
  });
  return url.href;
}

async function loginOfAnother(): Promise<string> {
  await pool.query(`alter role ${new URL(engine.runtimeUrl).username} set tcp_user_timeout = '10s'`);
  return engine.runtimeUrl;
}

// Other systems have no such limit.
it.skipIf(process.platform !== 'linux').each([
  ['a login that a deployment made', loginOfOurs],
  ['another login, with the documented setting', loginOfAnother],
])('a client that stops reading its answer frees what it locked: %s', async (_login, login) => {
  const url = await startDeafProxy(await login(), 'start_jobs');
  const claimed = await claim(db, 1000);
  const epoch = await readEpoch(db);
  const requests = claimed.map(({ id, claimNo }) => ({ epoch, jobId: id, claimNo, messageId: id, sentAt: 1 }));
  const vanished = openDatabase({ connectionString: url, max: 1, name: 'vanished', log });
  const sessions = async () =>
    (
      await pool.query(
        `select wait_event from pg_stat_activity where datname = current_database() and application_name = 'vanished'`,
      )
    ).rows;

  void start(vanished, {
    jobType: 'mail',
    routingKey: '',
    requestId: 'r',
    requests,
    leaseSeconds: 0,
    suspects: true,
  }).catch(() => 0);
  await eventually(async () => expect(await sessions()).toEqual([{ wait_event: 'ClientWrite' }]));
  const other = await createClient(engine.test.url);
  await other.query(`set lock_timeout = '120s'`);
  const { rowCount } = await other.query(`select from millrace.jobs_live where job_type = 'mail' for update`);

  expect(rowCount).toBe(10);
  await eventually(async () => expect(await sessions()).toEqual([]));
  const { rows } = await pool.query('select distinct status from millrace.jobs_live');
  expect(rows).toEqual([{ status: 'dispatched' }]);
});
