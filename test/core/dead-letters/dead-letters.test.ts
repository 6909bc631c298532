import { afterAll, beforeAll, expect, it } from 'vitest';
import { groupDeadLetters } from '../../../core/dead-letters/group-dead-letters.ts';
import { listDeadLetters } from '../../../core/dead-letters/page-dead-letters.ts';
import { previewRedrive } from '../../../core/dead-letters/preview-redrive.ts';
import { exportDeadLetters } from '../../../core/dead-letters/show-dead-letter.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { pagesOf } from '../../support/plans.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

const DEAD = 40_000;
/** Reading each dead letter with its job costs a few pages; reading all for each page costs 800 times as many. */
const MOST_PAGES = 10 * DEAD;

// Each third dead letter has a unique error; the stacks are as long as real ones.
const BURY = `
  with buried as (
    insert into millrace.jobs_live (job_type, payload, status, attempts, max_attempts, claim_no, last_error)
      select 'mail', '{"to": "ada@example.com"}', 'dead_letter', 5, 5, 7, 'boom ' || n
        from generate_series(1, $1::integer) n
      returning id, last_error
  )
  insert into millrace.dead_letters
      (job_id, claim_no, job_type, routing_key, last_error, error_stacktrace, fingerprint, died_at)
    select id, 7, 'mail', '', last_error, repeat(md5(id::text), 80),
           md5((case when id % 3 = 0 then id else id % 3 end)::text), millrace.clock() - make_interval(secs => id)
      from buried order by id`;

const engine = await openEngine();
const operator = { url: engine.test.url, role: 'millrace_operator' };
beforeAll(async () => {
  await deploy(engine.db, { jobType: 'mail' });
  await engine.pool.query(BURY, [DEAD]);
  await engine.pool.query('vacuum analyze millrace.dead_letters, millrace.jobs_live');
});
afterAll(() => engine.close());

it.each([
  ['the groups', (db: Database) => groupDeadLetters(db, {}, 50), 50],
  ['the newest', (db: Database) => listDeadLetters(db, {}, 20), 20],
  ['those whose error contains a string', (db: Database) => listDeadLetters(db, { error: 'BOOM 777' }, 100), 11],
  ['what a redrive would do', (db: Database) => previewRedrive(db, {}), 1],
  ['what a redrive of one error would do', (db: Database) => previewRedrive(db, { error: 'boom' }), 1],
])('reads few pages for %s of 40,000 dead letters', async (_name, ask, rows) => {
  const pages = await pagesOf(operator, async (db) => expect(await ask(db)).toHaveLength(rows));

  expect(pages).toBeGreaterThan(0);
  expect(pages).toBeLessThan(MOST_PAGES);
});

it('exports 40,000 dead letters in order, each once, without reading all of them for each page', async () => {
  let last = 0n;
  let count = 0;

  const pages = await pagesOf(operator, async (db) => {
    for await (const { id } of exportDeadLetters(db, {})) {
      if (BigInt(id) > last) count += 1;
      last = BigInt(id);
    }
  });

  expect(count).toBe(DEAD);
  expect(pages).toBeLessThan(MOST_PAGES);
});
