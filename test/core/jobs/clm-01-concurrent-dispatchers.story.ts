import { afterAll, beforeEach, expect, it } from 'vitest';
import { decodeMessage } from '../../../core/aws/message.ts';
import { dispatch } from '../../../core/dispatch/dispatch.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import { createClient } from '../../support/database.ts';
import {
  deploy,
  insertJobs,
  type MemoryQueues,
  memoryQueues,
  openEngine,
  statuses,
} from '../../support/runtime-engine.ts';

const engine = await openEngine({ connections: 16 });
const { pool, db, log } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.jobs_finished; delete from millrace.dispatches; delete from millrace.handlers',
  );
});

const MOST = 50;
const TYPES = ['mail', 'index', 'report'];

/** A handler's Lambda function: starts its messages, ten at a time, and settles them as succeeded. */
async function work(queues: MemoryQueues, done: () => boolean): Promise<void> {
  for (let batch = 0; !done(); batch++) {
    const [next] = queues.sent;
    const taken = queues.sent.filter(({ queueUrl }) => queueUrl === next?.queueUrl).slice(0, 10);
    if (taken.length === 0) {
      await new Promise(setImmediate);
      continue;
    }
    for (const message of taken) queues.sent.splice(queues.sent.indexOf(message), 1);
    const requests = taken.map(({ body }, n) => ({ ...decodeMessage(body)!, messageId: `${batch}-${n}`, sentAt: n }));
    const jobType = next!.queueUrl.split('/').at(-1)!;
    const requestId = `request-${jobType}-${batch}-${next!.id}`;
    const { answers } = await start(db, {
      jobType,
      routingKey: '',
      requestId,
      requests,
      leaseSeconds: 0,
      suspects: true,
    });
    expect(answers.map(({ verdict }) => verdict)).toEqual(requests.map(() => 'started'));
    await settle(
      db,
      requests.map(({ jobId, claimNo }) => ({ jobId, claimNo, outcome: { kind: 'succeeded', result: null } })),
      { requestId },
    );
  }
}

/** The largest number of jobs in flight of each handler, sampled as often as possible. */
async function sample(done: () => boolean): Promise<Map<string, number>> {
  const most = new Map<string, number>();
  while (!done()) {
    const { rows } = await pool.query<{ job_type: string; n: number }>(
      'select job_type, count(*)::int as n from millrace.jobs_live where in_flight group by 1',
    );
    for (const { job_type, n } of rows) most.set(job_type, Math.max(n, most.get(job_type) ?? 0));
    await new Promise((next) => setTimeout(next, 5));
  }
  return most;
}

it.each([
  ['CLM-01', 4, 5000],
  ['eight at once', 8, 2000],
])('%s: each job is sent once, and no handler exceeds its limit', async (_name, dispatchers, jobs) => {
  await deploy(db, ...TYPES.map((jobType) => ({ jobType, concurrency: 2, maxInFlight: MOST })));
  for (const type of TYPES) await insertJobs(pool, type, Math.ceil(jobs / TYPES.length));
  const total = Math.ceil(jobs / TYPES.length) * TYPES.length;
  const queues = memoryQueues();
  const sent: string[] = [];
  const send = queues.send;
  queues.send = async (queueUrl, messages) => {
    sent.push(...messages.map(({ id }) => id));
    return send(queueUrl, messages);
  };
  const ended = () => sent.length >= total;
  // The first two are the same event, delivered twice.
  const loops = Array.from({ length: dispatchers }, async (_, n) => {
    const deps = { db, queues, log, random: () => 1 };
    while (!ended()) {
      await dispatch(deps, 1000);
      await new Promise((next) => setTimeout(next, n % 3));
    }
  });

  let over = false;
  const finished = () => over;
  const watching = sample(finished);
  const workers = Array.from({ length: 3 }, () => work(queues, finished));
  await Promise.all(loops);
  await expect.poll(() => statuses(pool)).toEqual({ succeeded: total });
  over = true;
  await Promise.all(workers);
  const most = await watching;

  expect(sent).toHaveLength(total);
  expect(new Set(sent).size).toBe(total);
  for (const type of TYPES) expect(most.get(type)).toBeLessThanOrEqual(MOST);
  expect(Math.max(...most.values())).toBeGreaterThan(5);
});

it('CLM-01: a dispatcher never waits for another, and claims nothing for locked handlers', async () => {
  await deploy(db, { jobType: 'mail' });
  await insertJobs(pool, 'mail', 10);
  const number = async () =>
    (await pool.query(`select last_value from millrace.dispatches_claim_no_seq`)).rows[0].last_value;
  const other = await createClient(engine.test.url);
  await other.query('begin');
  await other.query('select from millrace.handlers for update');
  const before = await number();

  const meanwhile = await claim(db, 100);
  const after = await number();
  await other.query('commit');
  const then = await claim(db, 100);

  expect([meanwhile, after]).toEqual([[], before]);
  expect(then).toHaveLength(10);
  expect(BigInt(then[0]!.claimNo)).toBeGreaterThan(BigInt(before));
});

it('CLM-01: uncommitted claims of another dispatcher count, even when more urgent jobs arrive', async () => {
  await deploy(db, { jobType: 'mail', concurrency: 2, maxInFlight: 10 });
  await insertJobs(pool, 'mail', 30);
  // Delays the commit of a claim while another session has lock 42.
  await pool.query(`create function public.halt() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock(42); return null; end $$`);
  await pool.query('create trigger halt after insert on millrace.dispatches execute function public.halt()');
  const holder = await createClient(engine.test.url);
  await holder.query('begin; select pg_advisory_xact_lock(42)');
  const halted = async () =>
    (
      await pool.query(`select count(*)::int as n from pg_locks
      where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`)
    ).rows[0].n;

  const first = claim(db, 100);
  await expect.poll(halted).toBe(1);
  await pool.query(`insert into millrace.jobs (job_type, priority) select 'mail', 0 from generate_series(1, 30)`);
  let answered = false;
  const second = claim(db, 100).finally(() => {
    answered = true;
  });
  await expect.poll(async () => answered || (await halted()) === 2).toBe(true);
  await holder.query('commit');
  const claimed = [await first, await second, await claim(db, 100)].map((jobs) => jobs.length);
  await pool.query('drop trigger halt on millrace.dispatches; drop function public.halt()');

  expect(claimed).toEqual([10, 0, 0]);
});

it('the claim numbers of a handler rise in the order in which its claims commit', async () => {
  await deploy(db, { jobType: 'mail', concurrency: 2, batch: { size: 1 }, maxInFlight: 1000 });
  await insertJobs(pool, 'mail', 40);
  // A claim waits between the draw of its number and its commit, so that a number drawn too early would be overtaken.
  await pool.query(`create function public.dawdle() returns trigger language plpgsql as
    $$ begin perform pg_sleep(random() * 0.03); return null; end $$`);
  await pool.query('create trigger dawdle after insert on millrace.dispatches execute function public.dawdle()');
  const seen: bigint[] = [];
  const watch = async () => {
    const { rows } = await pool.query<{ top: string | null }>('select max(claim_no) as top from millrace.jobs_live');
    return BigInt(rows[0]?.top ?? 0);
  };

  await Promise.all(
    Array.from({ length: 8 }, async () => {
      // A claim takes nothing while another one holds the handler, so their number is not known before.
      while (seen.length < 10) {
        const before = await watch();
        const jobs = await claim(db, 3);
        if (jobs[0] === undefined) continue;
        seen.push(BigInt(jobs[0].claimNo));
        // Every claim that was committed before this one started has a lower number.
        expect(BigInt(jobs[0].claimNo)).toBeGreaterThan(before);
        await pool.query(`update millrace.jobs_live set status = 'running', started_at = now() where id = any($1)`, [
          jobs.map(({ id }) => id),
        ]);
        await pool.query('update millrace.handlers set max_in_flight = 1000');
      }
    }),
  );
  await pool.query('drop trigger dawdle on millrace.dispatches; drop function public.dawdle()');

  expect(new Set(seen).size).toBe(seen.length);
});
