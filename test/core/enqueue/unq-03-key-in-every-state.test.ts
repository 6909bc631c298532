import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { cancel } from '../../../core/jobs/cancel.ts';
import { claim } from '../../../core/jobs/claim.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { start } from '../../../core/jobs/start.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { deploy, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
const epoch = await readEpoch(db);
await deploy(db, { jobType: 'mail' });
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.jobs_finished; delete from millrace.dead_letters; delete from millrace.job_attempts',
  );
});

const error = { name: 'Error', message: 'boom', stack: null, fingerprint: 'f' };
const enqueue = async () =>
  (await pool.query(`select id, deduplicated from millrace.enqueue('mail', unique_key => 'k')`)).rows[0];

async function run(outcome?: Outcome): Promise<void> {
  const [job] = await claim(db, 1);
  const request = { epoch, jobId: job!.id, claimNo: job!.claimNo, messageId: 'm', sentAt: 1 };
  await start(db, {
    jobType: 'mail',
    routingKey: '',
    requestId: 'r',
    requests: [request],
    leaseSeconds: 0,
    suspects: true,
  });
  if (outcome) await settle(db, [{ jobId: job!.id, claimNo: job!.claimNo, outcome }], { requestId: 'r' });
}

/** How the job with the key got its status, and what a second caller gets: the same job, or a new one. */
const TABLE: [string, 'existing' | 'new', (id: string) => Promise<unknown>][] = [
  ['pending', 'existing', async () => undefined],
  ['dispatched', 'existing', () => claim(db, 1)],
  ['running', 'existing', () => run()],
  ['failed', 'existing', () => run({ kind: 'failed', error, delaySeconds: 60 })],
  ['dead_letter', 'existing', () => run({ kind: 'dead_letter', error })],
  ['succeeded', 'new', () => run({ kind: 'succeeded', result: null })],
  ['skipped', 'new', () => run({ kind: 'skipped', error })],
  ['cancelled', 'new', (id) => cancel(db, id)],
];

describe('UNQ-03', () => {
  it.each(TABLE)('while the job with the key is %s, a second caller gets: %s', async (status, expected, reach) => {
    const { id } = await enqueue();
    await reach(id);

    const second = await enqueue();
    const third = await enqueue();

    const { rows } = await pool.query('select id, status, unique_key from millrace.jobs order by id');
    expect(rows[0]).toEqual({ id, status, unique_key: 'k' });
    expect(rows).toHaveLength(expected === 'new' ? 2 : 1);
    expect(second.deduplicated).toBe(expected === 'existing');
    expect(third).toEqual({ id: rows.at(-1)!.id, deduplicated: true });
  });

  it('a snoozed job and a redriven one keep their key', async () => {
    const { id } = await enqueue();
    await run({ kind: 'snoozed', error, delaySeconds: 0 });
    const snoozed = await enqueue();
    await run({ kind: 'dead_letter', error });
    await pool.query('select millrace.retry($1)', [id]);

    const redriven = await enqueue();

    expect([snoozed, redriven]).toEqual([
      { id, deduplicated: true },
      { id, deduplicated: true },
    ]);
  });
});
