import { afterAll, describe, expect, it } from 'vitest';
import { pruneFinished, pruneHistory } from '../../../core/dispatch/prune.ts';
import { openEngine, shiftClock } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

const DAY = 86_400;
const ROWS = 60_000;
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now();
  await work();
  return performance.now() - started;
};

describe('SCL-03', () => {
  it('drops days past the retention at once however many rows they have, and nothing that is not over', async () => {
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
    const idle = await timed(() => pruneFinished(db, 30 * DAY));

    const took = await timed(() => pruneFinished(db, 7 * DAY));
    await pruneHistory(db, 7 * DAY);

    const { rows } = await pool.query(`select (select count(*)::int from millrace.jobs_finished) as finished,
      (select count(*)::int from millrace.jobs_live) as live,
      (select count(*)::int from millrace.dead_letters) as letters`);
    expect(rows).toEqual([{ finished: 0, live: 5, letters: 1 }]);
    expect(took).toBeLessThan(5000);
    expect(idle).toBeLessThan(3000);
  });

  it('costs next to nothing when there is nothing to do', async () => {
    await pruneFinished(db, 7 * DAY);

    const took = await timed(() => pruneFinished(db, 7 * DAY));

    expect(took).toBeLessThan(500);
  });

  it('drops history in batches, each committed alone, until none is left', async () => {
    await pool.query(`insert into millrace.job_attempts (job_id, attempt, outcome, finished_at)
      select 1000000 + n, 1, 'failed', now() - interval '8 days' from generate_series(1, 11000) n`);
    const left = async () => Number((await pool.query('select count(*) from millrace.job_attempts')).rows[0].count);
    await shiftClock(pool, 0);

    const counts = [];
    do counts.push((await pruneHistory(db, 7 * DAY)).more);
    while (counts.at(-1));

    expect(counts).toEqual([true, true, false]);
    expect(await left()).toBe(0);
  });
});
