import { expect, it } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { openUniqueWorld } from '../../migrations/unique-world.ts';
import { createClient } from '../../support/database.ts';

const { pool, db, appUrl, enqueue } = await openUniqueWorld();

const OVERDUE = `update millrace.jobs_live set run_at = millrace.clock() - interval '11 seconds'`;
const UNTIL_DISPATCHED = `unique_key => 'k', unique_until => 'dispatched'`;

/** Opens a transaction that enqueues, and so keeps a lock on the job with the key. */
async function open(options: string) {
  const client = await createClient(appUrl);
  await client.query('begin');
  return { client, verdict: await enqueue(options, { from: 'open' }, client) };
}

const claimed = async () => (await claim(db, 10)).map(({ id }) => id);

it.each([
  UNTIL_DISPATCHED,
  `${UNTIL_DISPATCHED}, on_conflict => 'replace'`,
  `${UNTIL_DISPATCHED}, unique_for => '1 hour'`,
])('claims a job for which one caller after another enqueues with %s', async (options) => {
  const job = await enqueue(options);
  const first = await open(options);
  await first.client.query('commit');
  await pool.query(OVERDUE);
  const second = await open(UNTIL_DISPATCHED);
  expect(second.verdict).toMatchObject({ id: job.id, deduplicated: true });
  expect(await claimed()).toEqual([]);

  const third = await open(options);
  await second.client.query('commit');
  const fourth = await open(UNTIL_DISPATCHED.replace(`'k'`, `'other'`));

  expect(await claimed()).toEqual([job.id]);
  expect(third.verdict).toMatchObject({ deduplicated: false, replaced: false });
  await third.client.query('commit');
  await fourth.client.query('commit');
  expect(await claimed()).toEqual([third.verdict.id, fourth.verdict.id]);
});

it('claims the other jobs in the same round', async () => {
  const job = await enqueue(UNTIL_DISPATCHED);
  await pool.query(OVERDUE);
  const other = await enqueue(`unique_key => null`);
  const { client } = await open(UNTIL_DISPATCHED);

  expect(await claimed()).toEqual([other.id]);
  expect(await enqueue(UNTIL_DISPATCHED)).toMatchObject({ deduplicated: false });
  await client.query('rollback');
  expect(await claimed()).toContain(job.id);
});

it('leaves the key of a job that has been due for less than ten seconds', async () => {
  const job = await enqueue(UNTIL_DISPATCHED);
  const { client } = await open(UNTIL_DISPATCHED);
  expect(await claimed()).toEqual([]);

  expect(await enqueue(UNTIL_DISPATCHED)).toMatchObject({ id: job.id, deduplicated: true });
  await client.query('rollback');
});

it.each([
  `unique_key => 'k'`,
  `unique_key => 'k', unique_until => 'dead_letter'`,
  `unique_key => 'k', unique_for => '1h'`,
])('leaves a key with %s, which lasts longer than until the claim', async (options) => {
  const job = await enqueue(options);
  await pool.query(OVERDUE);
  const client = await createClient(appUrl);
  await client.query('begin');
  await enqueue(`${options}, on_conflict => 'replace', run_at => now() - interval '11 seconds'`, {}, client);
  expect(await claimed()).toEqual([]);
  await client.query('commit');

  expect(await enqueue(options)).toMatchObject({ id: job.id, deduplicated: true });
});
