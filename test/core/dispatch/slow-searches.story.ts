import { expect, it } from 'vitest';
import { runDispatcher } from '../../../core/dispatch/dispatcher.ts';
import { storeRound } from '../../../core/dispatch/dispatcher-run.ts';
import { openLog } from '../../../core/log.ts';
import type { Database, Queryable } from '../../../core/postgres/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { plansOf } from '../../support/plans.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openDatabaseEngine();

/** Returns how often a dispatcher makes a search that takes this time, in a window of two minutes. */
async function searchesOf(part: string, searchMs: number): Promise<number> {
  const time = stillTime();
  let searches = 0;
  const watched = (queryable: Queryable): Queryable => ({
    query: (text, values) => {
      if (text.includes(part)) {
        searches += 1;
        time.at += searchMs;
      }
      return queryable.query(text, values);
    },
  });
  const { db, queues } = engine;
  const slow: Database = {
    ...db,
    keyed: watched(db.keyed),
    transaction: (work, limits) => db.transaction((tx) => work(watched(tx)), limits),
  };
  const log = openLog(() => undefined);
  const settings = { mode: 'loop', pollIntervalMs: 5000, windowMs: 120_000 } as const;
  await runDispatcher({ db: slow, queues, log, time, random: () => 0.5 }, settings);
  return searches;
}

it.each([
  ['late jobs', 'millrace.finish_late', 24],
  ['jobs without a handler', 'as "lastJobType"', 12],
])('the search for %s uses no more than a twentieth of a dispatcher', async (_what, part, most) => {
  const [quick, slow] = [await searchesOf(part, 0), await searchesOf(part, 2000)];

  expect(quick).toBeGreaterThan(most - 3);
  expect(slow).toBe(3);
});

it('the end of a round looks for due jobs once a minute', async () => {
  const looks = async (age: string) => {
    await engine.sql(`update millrace.dispatcher_runs
      set last_job_id = (select case when is_called then last_value else 0 end from millrace.job_ids),
      last_active_at = millrace.clock() - interval '${age}'`);
    const plans = await plansOf({ url: engine.database.url }, (db) => storeRound(db, false));
    return plans.some((plan) => /jobs_live_due [^\n]*actual/.test(plan));
  };

  expect(await looks('30 seconds')).toBe(false);
  expect(await looks('61 seconds')).toBe(true);
});
