import { expect, it } from 'vitest';
import { openLongestWaits } from '../../../core/dispatch/longest-waits.ts';
import { maintain } from '../../../core/dispatch/maintain.ts';
import type { Metrics } from '../../../core/numbers/emf.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { deploy, insertJobs } from '../../support/runtime-engine.ts';
import { stillTime } from '../../support/still-time.ts';
import { openMaintainWorld } from './maintain-world.ts';

const { pool, db, deps } = await openMaintainWorld();

/** Maintains every ten seconds for five minutes while each statement of a look takes this long, or fails after it. */
async function maintained(statementMs: number, refusal?: Error) {
  const time = stillTime();
  const waits = openLongestWaits(time);
  const published: Record<string, number>[] = [];
  const put = (values: Record<string, number>) => void ('OldestDueAge' in values && published.push(values));
  let spent = 0;
  const slow: Database['query'] = async (text, values) => {
    if (!/from looked group by job_type|h\.visibility_seconds/.test(text)) return db.query(text, values);
    time.at += statementMs;
    spent += statementMs;
    if (refusal) throw refusal;
    return db.query(text, values);
  };
  let times = 0;
  for (; time.at < 300_000; times++) {
    const next = time.at + 10_000;
    await maintain({ ...deps, db: { ...db, query: slow }, waits, metrics: { put } as unknown as Metrics });
    time.at = Math.max(next, time.at);
  }
  return { spent, times, published };
}

it('uses a twentieth of the time while looks are slow, and publishes each time what the last one found', async () => {
  await deploy(db, { jobType: 'mail' });
  await insertJobs(pool, 'mail', 600);

  const { spent, times, published } = await maintained(3000);

  expect(spent).toBeLessThanOrEqual(300_000 / 20 + 6000);
  expect(published).toHaveLength(times);
  expect(Math.min(...published.map(({ OldestDueAge = 0 }) => OldestDueAge))).toBeGreaterThanOrEqual(600);
});

it('looks each time while that is fast', async () => {
  const { spent, times } = await maintained(10);

  expect(spent).toBe(times * 20);
});

it('publishes nothing before a look has succeeded, and tries one that fails in a twentieth of the time', async () => {
  const { spent, published } = await maintained(10_000, new Error('statement timeout'));

  expect(spent).toBeLessThanOrEqual(300_000 / 20 + 10_000);
  expect(published).toEqual([]);
});
