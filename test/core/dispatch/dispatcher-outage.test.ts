import { afterAll, expect, it } from 'vitest';
import { type DispatcherSettings, runDispatcher } from '../../../core/dispatch/dispatcher.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { deploy, insertJobs, memoryQueues, openEngine } from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';

const { pool, db, log, close } = await openEngine();
afterAll(() => close());

const settings: DispatcherSettings = { mode: 'loop', pollIntervalMs: 1000, windowMs: 30_000 };

/** A database that refuses statements while `isAway` returns true. */
function unsteady(isAway: () => boolean): Database {
  const gate = <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) => {
    return (...args: Args) => (isAway() ? Promise.reject(new Error('Connection terminated')) : work(...args));
  };
  return {
    ...db,
    query: gate(db.query) as Database['query'],
    keyed: { query: gate(db.keyed.query) as Database['query'] },
    limited: (limits) => ({ query: gate(db.limited(limits).query) as Database['query'] }),
    transaction: gate(db.transaction) as Database['transaction'],
  };
}

it('repeats a failed round without waiting for the next tick', async () => {
  await deploy(db, { jobType: 'mail' });
  await insertJobs(pool, 'mail', 3);
  const queues = memoryQueues();
  const time = stillTime();

  const away = () => time.at < 6000;
  await runDispatcher({ db: unsteady(away), queues, log, time, random: () => 0.5 }, settings);

  expect(log.events('round_failed').length).toBeGreaterThanOrEqual(2);
  expect(queues.sent).toHaveLength(3);
});

it('throws the error when no round succeeds in its window', async () => {
  const time = stillTime();

  const run = runDispatcher(
    { db: unsteady(() => true), queues: memoryQueues(), log, time, random: () => 0.5 },
    settings,
  );

  await expect(run).rejects.toThrow('Connection terminated');
  expect(time.at).toBeGreaterThan(10_000);
});
