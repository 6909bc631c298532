import { expect, it } from 'vitest';
import type { Database } from '../../../core/postgres/database.ts';
import { systemTime } from '../../../core/time.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine, QUEUE, type RunOptions } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { withQuery } from '../../support/with-query.ts';
import { boom, die, troubled } from './troubled.ts';
import { quickTime } from './uncaught-runtime.ts';

const engine = await openDatabaseEngine({ timeout: '14m' });
const options: RunOptions = { deps: { time: quickTime }, remainingMs: () => 900_000 };

/** Runs of the last of `ids` wait for `release`; the others run `work`. */
function hold(ids: string[], work: (jobId: string) => unknown = () => undefined) {
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.work = ({ jobId }) => (jobId === ids.at(-1) ? promise : work(jobId));
  return resolve;
}

const statuses = (ids: string[]) => Promise.all(ids.map(async (id) => (await engine.state(id)).status));

it('stores the outcomes of ended jobs while another job of the batch still runs', async () => {
  const { ids, records } = await engine.deliver(4);
  const endings = [() => 1, boom, die];
  const release = hold(ids, (jobId) => endings[ids.indexOf(jobId)]!());

  const running = engine.run(records, options);
  await eventually(async () => expect(await statuses(ids)).toEqual(['succeeded', 'failed', 'dead_letter', 'running']));
  release();
  const ran = await running;

  expect(await statuses(ids)).toEqual(['succeeded', 'failed', 'dead_letter', 'succeeded']);
  expect(ran).toMatchObject({ failed: [records[2]!.messageId], shown: [records[2]!.receiptHandle] });
  expect(engine.lines.filter(({ event }) => /^job_/.test(String(event)))).toHaveLength(4);
});

it('settles one group at a time, each job once', async () => {
  const { ids, records } = await engine.deliver(4);
  const release = hold(ids, async (jobId) => systemTime.sleep(60 * ids.indexOf(jobId)));
  let inFlight = 0;
  let most = 0;
  let settles = 0;
  const db = troubled(engine, async (send) => {
    settles++;
    most = Math.max(most, ++inFlight);
    await systemTime.sleep(50);
    return send().finally(() => inFlight--);
  });

  const running = engine.run(records, { ...options, deps: { ...options.deps, db } });
  await eventually(async () => expect(await statuses(ids.slice(0, 3))).toEqual(Array(3).fill('succeeded')));
  release();
  await running;

  expect(most).toBe(1);
  expect(settles).toBeLessThanOrEqual(ids.length);
  expect(engine.lines.filter(({ event }) => event === 'outcome_not_ours')).toEqual([]);
});

it('settles once at the end when all jobs end within the first second', async () => {
  const { ids, records } = await engine.deliver(3);
  engine.work = async ({ jobId }) => systemTime.sleep(20 * ids.indexOf(jobId));
  let settles = 0;
  const db = troubled(engine, (send) => {
    settles++;
    return send();
  });

  await engine.run(records, {
    deps: { db, time: { ...systemTime, sleep: (ms, s) => systemTime.sleep(ms * 10, s) } },
    remainingMs: () => 900_000,
  });

  expect(settles).toBe(1);
});

it('repeats a settle that failed in the middle together with the last one', async () => {
  const { ids, records } = await engine.deliver(3);
  const release = hold(ids, (jobId) => (jobId === ids[0] ? die() : undefined));
  let failures = 0;
  const db = troubled(engine, (send) => {
    if (engine.runs.length > 0 && failures++ < 2) throw new Error('connect ECONNREFUSED');
    if (failures === 3) release();
    return send();
  });

  const running = engine.run(records, { ...options, deps: { ...options.deps, db } });
  await eventually(() => expect(failures).toBeGreaterThan(1));
  release();
  const ran = await running;

  expect(await statuses(ids)).toEqual(['dead_letter', 'succeeded', 'succeeded']);
  expect(ran).toMatchObject({ failed: [records[0]!.messageId], shown: [records[0]!.receiptHandle] });
});

it('keeps a locked row for a later settle', async () => {
  const { ids, records } = await engine.deliver(3);
  const release = hold(ids);
  const holder = await createClient(engine.database.url);
  await holder.query('begin');

  const running = engine.run(records, { ...options, deps: { ...options.deps, db: troubled(engine, lockFirst()) } });
  await eventually(async () => expect(await statuses(ids)).toEqual(['running', 'succeeded', 'running']));
  await holder.query('rollback');
  await eventually(async () => expect(await statuses(ids)).toEqual(['succeeded', 'succeeded', 'running']));
  release();

  expect(await running).toMatchObject({ failed: [] });

  /** Locks the row of the first job before the first settle. */
  function lockFirst() {
    let locked: Promise<unknown> | undefined;
    return async (send: () => Promise<unknown>) => {
      locked ??= holder.query('select from millrace.jobs_live where id = $1 for update', [ids[0]]);
      await locked;
      return send();
    };
  }
});

it('settles nothing before the decisions about the other messages are applied', async () => {
  const { ids, records } = await engine.deliver(2, { maxAttempts: 1 });
  const release = hold(ids, boom);
  const twin = { ...records[0]!, messageId: 'm-twin', receiptHandle: 'r-twin' };
  const decision = Promise.withResolvers<void>();
  let settles = 0;
  const db = troubled(engine, (send) => {
    settles++;
    return send();
  });
  const query = (async (text: string, values?: readonly unknown[]) => {
    const looking = values?.at(-1) === true;
    if (looking) await decision.promise;
    return db.query(text, values);
  }) as Database['query'];

  const running = engine.run([...records, twin], { ...options, deps: { ...options.deps, db: withQuery(db, query) } });
  await eventually(() => expect(engine.runs).toHaveLength(2));
  await systemTime.sleep(60);
  const before = settles;
  decision.resolve();
  await eventually(async () => expect(await statuses(ids)).toEqual(['dead_letter', 'running']));
  release();
  await running;

  expect(before).toBe(0);
  expect(await statuses(ids)).toEqual(['dead_letter', 'succeeded']);
});

it('a process that is killed after a settle loses only what had not ended', async () => {
  const { ids, records } = await engine.deliver(4, { maxAttempts: 1 });
  const endings = [() => 1, die, boom];
  const release = hold(ids, (jobId) => endings[ids.indexOf(jobId)]!());
  const killed = engine.run(records, options);
  await eventually(async () =>
    expect(await statuses(ids)).toEqual(['succeeded', 'dead_letter', 'dead_letter', 'running']),
  );

  engine.queues.showAll();
  const again = await engine.run(engine.queues.receive(QUEUE), options);
  await engine.advance(3600);
  await engine.rescue();

  const [, dead, deadToo, running] = records.map(({ messageId }) => messageId);
  expect(again.failed.toSorted()).toEqual([dead!, deadToo!, running!].toSorted());
  expect(again.shown).toHaveLength(2);
  expect(await statuses(ids)).toEqual(['succeeded', 'dead_letter', 'dead_letter', 'dead_letter']);
  expect(engine.runs).toHaveLength(4);
  release();
  await killed;
});
