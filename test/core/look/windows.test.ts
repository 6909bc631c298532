import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageDeadLetters } from '../../../core/dead-letters/page-dead-letters.ts';
import { pageAudit } from '../../../core/look/page-audit.ts';
import { pageJobs } from '../../../core/look/page-jobs.ts';
import type { PageWish } from '../../../core/look/windows.ts';
import { openEngine } from '../../support/runtime-engine.ts';

const { db, pool, close } = await openEngine();
afterAll(close);

/** 101 jobs with their dead letters and audit events: one rare, 49 common, one rare, 50 common. */
beforeAll(async () => {
  await pool.query(`
    with job as (
      insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, last_error)
        select 'a', 'dead_letter', 1, 1, 1, case when n in (1, 51) then 'rare' else 'common' end
          from generate_series(1, 101) n order by n
        returning id, last_error
    )
    insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error)
      select id, 1, 'a', '', last_error from job order by id`);
  await pool.query(`insert into millrace.audit_log (action) select last_error from millrace.dead_letters order by id`);
});

const jobs = async (error: string, wish: PageWish) => {
  // 'succeeded' makes the page read every partition, not the index of dead jobs.
  const page = await pageJobs(db, { statuses: ['dead_letter', 'succeeded'], jobTypes: [], error }, wish);
  return { words: page.jobs.map(({ lastError }) => lastError), next: page.next };
};
const deadLetters = async (error: string, wish: PageWish) => {
  const page = await pageDeadLetters(db, { error }, wish);
  return { words: page.deadLetters.map(({ lastError }) => lastError), next: page.next };
};

const audit = async (action: string, wish: PageWish) => {
  const page = await pageAudit(db, { action }, wish);
  return { words: page.lines.map((line) => line.action), next: page.next };
};

describe.each([
  ['jobs', jobs],
  ['dead letters', deadLetters],
  ['the audit log', audit],
])('a page of %s', (_what, read) => {
  it('continues in the next windows until it is full', async () => {
    const page = await read('rare', { limit: 1, windowRows: 20 });

    expect(page).toEqual({ words: ['rare'], next: expect.any(String) });
    expect(await read('rare', { limit: 1, windowRows: 20, before: page.next })).toEqual({
      words: ['rare'],
      next: undefined,
    });
  });

  it('contains all matches when every row is scanned', async () => {
    expect(await read('rare', { limit: 5, windowRows: 20 })).toEqual({ words: ['rare', 'rare'], next: undefined });
  });

  it('ends after ten windows, even if empty, and the next page continues there', async () => {
    const first = await read('rare', { limit: 5, windowRows: 4 });
    const second = await read('rare', { limit: 5, windowRows: 4, before: first.next });
    const third = await read('rare', { limit: 5, windowRows: 4, before: second.next });

    expect([first, second]).toMatchObject([{ words: [] }, { words: ['rare'] }]);
    expect([first.next, second.next]).toEqual([expect.any(String), expect.any(String)]);
    expect(third).toEqual({ words: ['rare'], next: undefined });
  });

  it('selected by its number skips matches across windows', async () => {
    expect(await read('rare', { skip: 1, limit: 1, windowRows: 20 })).toEqual({ words: ['rare'], next: undefined });
    expect(await read('rare', { skip: 2, limit: 1, windowRows: 20 })).toEqual({ words: [], next: undefined });
    expect((await read('common', { skip: 95, limit: 50, windowRows: 20 })).words).toHaveLength(4);
  });

  it('shows each row on exactly one page', async () => {
    let shown = 0;
    let before: string | undefined;
    do {
      const page = await read('common', { limit: 7, windowRows: 3, before });
      shown += page.words.length;
      before = page.next;
    } while (before !== undefined);

    expect(shown).toBe(99);
  });
});
