import { afterAll, describe, expect, it } from 'vitest';
import { pruneFinished } from '../../../core/upkeep/prune.ts';
import { pagesOf } from '../../support/plans.ts';
import { openEngine } from '../../support/runtime-engine.ts';
import { pruneHistory } from './prune-history.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

const DAY = 86_400;
const ROWS = 60_000;
const prune = (days: number) => pagesOf(engine.test, (database) => pruneFinished(database, days * DAY));

describe('SCL-03', () => {
  it('deletes days past the retention at once, regardless of their rows, and no unfinished job', async () => {
    await pool.query(
      `insert into millrace.jobs_finished (id, slot, job_type, status, max_attempts, finished_at)
         select n, millrace.slot_of(at), 'mail', 'succeeded', 5, at
           from generate_series(1, $1::int) n, lateral (select now() - make_interval(days => 8 + n % 20) as at) t`,
      [ROWS],
    );
    await pool.query(`insert into millrace.jobs_live (job_type, status, run_at, created_at, max_attempts, claim_no,
        lease_expires_at, started_at, attempts, next_retry_at)
      select 'mail', s, now() - interval '99 days', now() - interval '99 days', 5, 1,
             case when s in ('dispatched', 'running') then now() end, case when s = 'running' then now() end, 1,
             case when s = 'failed' then now() end
        from unnest(array['pending', 'failed', 'dispatched', 'running', 'dead_letter']) s`);
    await pool.query(`insert into millrace.dead_letters (job_id, died_at)
      select id, now() - interval '99 days' from millrace.jobs_live where status = 'dead_letter'`);
    const idle = await prune(30);

    const pages = await prune(7);
    await pruneHistory(engine, 7 * DAY);

    const { rows } = await pool.query(`select (select count(*)::int from millrace.jobs_finished) as finished,
      (select count(*)::int from millrace.jobs_live) as live,
      (select count(*)::int from millrace.dead_letters) as letters`);
    expect(rows).toEqual([{ finished: 0, live: 5, letters: 1 }]);
    expect(Math.min(pages, idle)).toBeGreaterThan(0);
    expect(Math.max(pages, idle)).toBeLessThan(ROWS / 2);
  });

  it('reads few pages without old rows', async () => {
    await pruneFinished(db, 7 * DAY);

    const pages = await prune(7);

    expect(pages).toBeLessThan(ROWS / 10);
  });
});
