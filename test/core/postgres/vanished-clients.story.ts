import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { decodeMessage, encodeMessage } from '../../../core/aws/message.ts';
import { recordDead } from '../../../core/dead-letters/record-dead.ts';
import { cancel } from '../../../core/jobs/cancel.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { deleteJob } from '../../../core/jobs/delete.ts';
import { retryJob } from '../../../core/jobs/redrive.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import { type Database, openDatabase } from '../../../core/postgres/database.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { createClient } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { findPgBouncer, startPgBouncer } from '../../support/pgbouncer.ts';
import { deploy, insertJobs, openEngine, recordLog } from '../../support/runtime-engine.ts';
import { startProxy } from '../../support/silent-proxy.ts';

const engine = await openEngine();
const { pool, db } = engine;
await deploy(db, { jobType: 'mail' });
const epoch = await readEpoch(db);
const pgBouncer = findPgBouncer();
afterAll(() => engine.close());

interface Claimed {
  readonly jobId: string;
  readonly claimNo: string;
}

async function handle(own: Database, { jobId, claimNo }: Claimed): Promise<void> {
  const message = decodeMessage(encodeMessage({ epoch, jobId, claimNo }))!;
  const requests = [{ ...message, messageId: jobId, sentAt: 1 }];
  await start(own, { jobType: 'mail', routingKey: '', requestId: 'r', requests, leaseSeconds: 0, suspects: true });
  await settle(own, [{ jobId, claimNo, outcome: { kind: 'succeeded', result: '{}' } }], { requestId: 'r' });
}

async function mirrorOne(own: Database, { jobId, claimNo }: Claimed): Promise<void> {
  const found = [{ messageId: jobId, sentAt: 1, jobId, claimNo, epoch, body: '' }];
  await recordDead(own, { url: 'memory://mail-dlq', name: 'mail-dlq' }, found);
}

async function operate(own: Database, { jobId }: Claimed): Promise<void> {
  await cancel(own, jobId);
  await retryJob(own, jobId);
  await own.transaction((tx) => deleteJob(tx, jobId));
}

const PROCESSES = [
  ['handler', handle],
  ['mirror', mirrorOne],
  ['command', operate],
] as const;

/** Creates and claims a job for each process that vanishes. */
async function claimJobs(count: number): Promise<Claimed[]> {
  await insertJobs(pool, 'mail', count);
  const claimed = await claim(db, count);
  expect(claimed).toHaveLength(count);
  return claimed.map(({ id, claimNo }) => ({ jobId: id, claimNo }));
}

/** Runs `work` behind a proxy that stops forwarding at its n-th message; returns the number of forwarded messages. */
async function vanishAt(url: string, last: number, work: (own: Database) => Promise<void>): Promise<number> {
  let sent = 0;
  const silent = Promise.withResolvers<void>();
  const proxy = await startProxy(url, () => {
    sent += 1;
    if (sent === last) silent.resolve();
    return sent < last;
  });
  const own = openDatabase({ connectionString: proxy.url, max: 1, name: 'vanished', log: recordLog() });
  const worked = work(own).catch(() => undefined);
  onTestFinished(() => own.close().catch(() => undefined));
  await Promise.race([worked, silent.promise]);
  return sent;
}

/** Waits for every transaction that locks a table or row of Millrace, and changes nothing. */
async function lockEverything(): Promise<void> {
  const other = await createClient(engine.test.url);
  await other.query(`begin; set local lock_timeout = '120s';
    lock table millrace.jobs, millrace.handlers, millrace.dead_letters, millrace.job_attempts; rollback`);
}

describe.each([
  ['directly', async () => engine.runtimeUrl, false],
  ['through PgBouncer in transaction mode', () => startPgBouncer(engine.runtimeUrl), pgBouncer === undefined],
] as const)('connected %s', (_way, connect, isMissing) => {
  it.skipIf(isMissing).each(PROCESSES)(
    'the locks of a %s that vanishes between any two messages are released',
    async (_name, work) => {
      const url = await connect();
      const [first] = await claimJobs(1);
      const all = await vanishAt(url, Number.POSITIVE_INFINITY, (own) => work(own, first!));
      const jobs = await claimJobs(all);

      await Promise.all(jobs.map((job, n) => vanishAt(url, n + 1, (own) => work(own, job))));
      await lockEverything();
      await insertJobs(pool, 'mail', 1);
      const claimed = await claim(db, 1);

      expect(all).toBeGreaterThan(2);
      expect(claimed).toHaveLength(1);
      await eventually(async () => {
        const { rows } = await pool.query(`select from pg_stat_activity
          where datname = current_database() and state like 'idle in transaction%'`);
        expect(rows).toEqual([]);
      });
    },
  );
});

it.skipIf(pgBouncer === undefined)(
  'a vanished client keeps the last connection of a pooler only for a limited time',
  async () => {
    const url = await startPgBouncer(engine.runtimeUrl, { poolSize: 1 });
    const [job] = await claimJobs(1);
    await vanishAt(url, 3, (own) => own.transaction(async (tx) => void (await cancel(tx, job!.jobId))));
    const next = openDatabase({
      connectionString: url,
      max: 1,
      name: 'next',
      log: recordLog(),
      statementTimeoutMs: 60_000,
    });

    const { rows } = await next.query('select 1 as one');

    expect(rows).toEqual([{ one: 1 }]);
    await next.close();
  },
);
