import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineHandler } from '../../../core/handler/handler.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { quickTime } from './uncaught-runtime.ts';

// An application keeps the unique key of a follow-up in a transaction that does not end.
const engine = await openDatabaseEngine({ timeout: '14m', maxAttempts: 3 });
const report = defineHandler({ jobType: 'report', payload: z.unknown(), run: async () => undefined });
const merge = defineHandler({ jobType: 'merge', payload: z.unknown(), run: async () => undefined });

const HOLDS: Record<string, string> = {
  'enqueues a job with the key': `select millrace.enqueue('report', unique_key => 'k')`,
  'inserts a job with the key': `insert into millrace.jobs (job_type, unique_key) values ('report', 'k')`,
  'gives the key to another job': `update millrace.jobs set unique_key = 'k' where job_type = 'report'`,
};

async function hold(statement: string) {
  await engine.sql(`insert into millrace.jobs (job_type) values ('report')`);
  const application = await createClient(engine.database.url);
  await application.query(`begin; ${statement}`);
  return application;
}

type Watch = (query: Database['query']) => Database['query'];

/** The database, with every statement that has its own transaction watched, whatever its limits. */
function watched(db: Database, watch: Watch): Database {
  return { ...db, query: watch(db.query), limited: (limits) => ({ query: watch(db.limited(limits).query) }) };
}

/** The engine's database, which calls `before` before each statement that stores successes with jobs. */
function observed(before: () => void): Database {
  return watched(engine.db, (query) => (text, values) => {
    if (text.includes('enqueue_follow_ups')) before();
    return query(text, values);
  });
}

const statuses = (ids: string[]) => Promise.all(ids.map(async (id) => (await engine.state(id)).status));

describe.each(Object.entries(HOLDS))('while a transaction %s', (_what, statement) => {
  it('the outcome of another job of the batch is stored after a few tries, not after one for each job', async () => {
    const { ids, records } = await engine.deliver(10);
    const application = await hold(statement);
    const last = ids[9]!;
    const { promise: first, resolve } = Promise.withResolvers<void>();
    let tries = 0;
    let triesBefore: number | undefined;
    const seen = observed(() => {
      tries += 1;
      resolve();
    });
    const db = watched(seen, (query) => async (text, values) => {
      const answer = await query(text, values);
      if (text.includes('millrace.finish(') && triesBefore === undefined) {
        triesBefore = tries;
        await application.query('rollback');
      }
      return answer as never;
    });
    engine.work = ({ jobId, enqueue }) => (jobId === last ? first : enqueue(report, {}, { uniqueKey: 'k' }));

    await engine.run(records, { deps: { db, time: quickTime }, remainingMs: () => 900_000 });

    expect(triesBefore).toBeLessThanOrEqual(3);
    expect(await statuses(ids)).toEqual(Array(10).fill('succeeded'));
    expect(await engine.sql(`select from millrace.jobs_live where unique_key = 'k'`)).toHaveLength(1);
  });

  it('a success whose follow-up has another key is stored, whatever its place in the batch', async () => {
    const { ids, records } = await engine.deliver(10);
    const application = await hold(statement);
    const { promise: stored, resolve } = Promise.withResolvers<void>();
    const db = observed(() => {
      void statuses(ids.slice(8, 9)).then(([status]) => status === 'succeeded' && resolve());
    });
    engine.work = async ({ jobId, enqueue }) => {
      if (jobId === ids[9]) return stored;
      await enqueue(report, {}, { uniqueKey: jobId === ids[8] ? 'free' : 'k' });
    };
    void stored.then(() => application.query('rollback'));

    await engine.run(records, { deps: { db, time: quickTime }, remainingMs: () => 900_000 });

    expect(await statuses(ids)).toEqual(Array(10).fill('succeeded'));
  });

  it.each(['a follow-up', 'a child'])('a success with %s has failed for this reason at the end', async (what) => {
    const { ids, records } = await engine.deliver(2);
    const application = await hold(statement);
    engine.work = ({ jobId, enqueue, enqueueChildren }) => {
      if (jobId === ids[1]) return undefined;
      if (what === 'a follow-up') return enqueue(report, {}, { uniqueKey: 'k' });
      const children = [{ handler: report, payload: {}, uniqueKey: 'k' }];
      return enqueueChildren(children, { onAllFinished: { handler: merge, payload: {} } });
    };
    let calls = 0;
    const remainingMs = () => {
      calls += 1;
      return calls < 3 ? 900_000 : 8_000 - calls * 1_000;
    };

    await engine.run(records, { deps: { time: quickTime }, remainingMs });
    await application.query('rollback');

    expect(await statuses(ids)).toEqual(['failed', 'succeeded']);
    expect(await engine.state(ids[0]!)).toMatchObject({
      suspect: false,
      last_error:
        'the jobs of this success could not be enqueued: another transaction keeps a lock on their unique_key',
    });
    expect(engine.lines.filter(({ event }) => event === 'settle_given_up')).toEqual([]);
  });
});
