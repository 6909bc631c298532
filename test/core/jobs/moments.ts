import { onTestFinished } from 'vitest';
import { createClient } from '../../support/database.ts';
import { type Costs, openWatched, type WatchedSession } from '../../support/plans.ts';
import type { Engine } from '../../support/runtime-engine.ts';

/** Jobs that are due when a statement is measured. */
export const DUE = 10_000;

export const fill = (jobType: string, count: number) =>
  `insert into millrace.jobs (job_type, run_at)
     select '${jobType}', now() - interval '1 hour' + make_interval(secs => n * 0.001)
       from generate_series(1, ${count}) n`;

/** Ways in which the statistics of the jobs can be older than the rows. Each leaves the table empty. */
export function momentsOf({ pool, test }: Engine): Record<string, () => Promise<void>> {
  return {
    'were taken of an empty table': async () => {
      await pool.query('vacuum analyze millrace.jobs_live');
    },
    'were taken while nothing waited': async () => {
      await pool.query(fill('mail', 200));
      await pool.query(`update millrace.jobs_live set status = 'running', attempts = 1, claim_no = 1,
        started_at = now(), dispatched_at = now(), lease_expires_at = now() + interval '1 hour'`);
      await pool.query('analyze millrace.jobs_live');
      await pool.query('delete from millrace.jobs_live');
    },
    'were taken while everything was in flight': async () => {
      await pool.query(fill('mail', 3000));
      await pool.query(`update millrace.jobs_live set status = 'dispatched', claim_no = 1, dispatched_at = now(),
        lease_expires_at = now() + interval '1 hour'`);
      await pool.query('vacuum analyze millrace.jobs_live');
      await pool.query('delete from millrace.jobs_live');
    },
    'do not include an uncommitted insert': async () => {
      await pool.query('vacuum analyze millrace.jobs_live');
      const producer = await createClient(test.url);
      await producer.query(`begin; ${fill('other', DUE)}`);
      onTestFinished(() => producer.end());
    },
  };
}

/** What a statement may read for each job of its batch, at most, whatever the statistics say. */
const MOST_PAGES = 150;

/** Returns a function that stores in `costs` what the statements of `work` read for each of `jobs` jobs. */
export function countInto(costs: Record<string, Costs>, session: WatchedSession) {
  return async (name: string, jobs: number, work: () => Promise<unknown>): Promise<void> => {
    const { pages, filteredRows } = await session.costs(work);
    costs[name] = { pages: Math.round(pages / jobs), filteredRows: Math.round(filteredRows / jobs) };
  };
}

/** Measures in a session of its own, which `warmUp` lets run each statement before. */
export async function measureIn(
  test: Engine['test'],
  warmUp: (session: WatchedSession) => Promise<void>,
  measure: (session: WatchedSession) => Promise<Record<string, Costs>>,
): Promise<Record<string, Costs>> {
  const session = await openWatched(test);
  await warmUp(session);
  const costs = await measure(session);
  await session.close();
  return costs;
}

type CostsByName = Readonly<Record<string, Costs>>;

/** Returns the statements that read more than three times as much as with friendly statistics, or too much at all. */
function findWorse(friendly: CostsByName, costs: CostsByName, mostFilteredRows: number): string[] {
  const worse = Object.entries(costs).filter(
    ([name, { pages, filteredRows }]) =>
      pages > Math.min(MOST_PAGES, Math.max(3 * friendly[name]!.pages, 30)) || filteredRows > mostFilteredRows,
  );
  return worse.map(([name]) => name);
}

/**
 * Returns what was worse than with friendly statistics in two measurements, with the costs of the second. DDL of the
 * tests that run at the same time can make a session discard its caches and plan again, which reads pages of catalogs:
 * that happens once, and a bad plan happens each time.
 */
export async function findWorseTwice(
  friendly: CostsByName,
  mostFilteredRows: number,
  measure: () => Promise<CostsByName>,
): Promise<Record<string, { readonly friendly: Costs | undefined; readonly now: Costs | undefined }>> {
  const first = findWorse(friendly, await measure(), mostFilteredRows);
  if (first.length === 0) return {};
  const costs = await measure();
  const both = findWorse(friendly, costs, mostFilteredRows).filter((name) => first.includes(name));
  return Object.fromEntries(both.map((name) => [name, { friendly: friendly[name], now: costs[name] }]));
}
