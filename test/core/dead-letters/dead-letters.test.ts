import { afterAll, beforeAll, expect, it } from 'vitest';
import { groupDeadLetters } from '../../../core/dead-letters/group-dead-letters.ts';
import { listDeadLetters } from '../../../core/dead-letters/list-dead-letters.ts';
import { previewRedrive } from '../../../core/dead-letters/preview-redrive.ts';
import { exportDeadLetters } from '../../../core/dead-letters/show-dead-letter.ts';
import { type Database, openDatabase } from '../../../core/postgres/database.ts';
import { createLogin, deploy, openEngine } from '../../support/runtime-engine.ts';

const DEAD = 40_000;
/** A person waits for it. Measured: 0.1 to 0.4 s, on a machine with ten times more to do than it has processors. */
const PATIENCE_MS = 5_000;

// A third of them have an error of its own kind each; the stacks are as long as real ones.
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
const login = await createLogin(engine.test, 'millrace_operator');
const operator: Database = openDatabase({ connectionString: login.url, max: 1, name: 'test', log: engine.log });
beforeAll(async () => {
  await deploy(engine.db, { jobType: 'mail' });
  await engine.pool.query(BURY, [DEAD]);
}, 60_000);
afterAll(async () => {
  await operator.close();
  await engine.close();
  await login.drop();
});

it.each([
  ['the groups', () => groupDeadLetters(operator, {}, 50), 50],
  ['the newest', () => listDeadLetters(operator, {}, 20), 20],
  ['those with a text in their error', () => listDeadLetters(operator, { error: 'BOOM 777' }, 100), 11],
  ['what a redrive would do', () => previewRedrive(operator, {}), 1],
  ['what a redrive of one error would do', () => previewRedrive(operator, { error: 'boom' }), 1],
])('answers %s of 40,000 dead letters before a person is tired of waiting', async (_name, ask, rows) => {
  const before = performance.now();

  const answer = await ask();

  expect(performance.now() - before).toBeLessThan(PATIENCE_MS);
  expect(answer).toHaveLength(rows);
});

it('exports 40,000 in order, each once, without reading all of them for each page', async () => {
  let last = 0n;
  let count = 0;
  const before = performance.now();

  for await (const { id } of exportDeadLetters(operator, {})) {
    if (BigInt(id) > last) count += 1;
    last = BigInt(id);
  }

  expect(count).toBe(DEAD);
  // 800 pages that each read everything took 26 s.
  expect(performance.now() - before).toBeLessThan(15_000);
});
