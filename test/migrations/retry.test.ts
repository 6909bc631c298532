import { describe, expect, it } from 'vitest';
import { claim } from '../../core/jobs/claim.ts';
import { redrive } from '../../core/jobs/redrive.ts';
import { createClient } from '../support/database.ts';
import { jobIn } from './job-in.ts';
import { openOperator } from './operator.ts';

const { engine, ask, job, letters, login } = await openOperator();
const { pool, db } = engine;
const retry = (id: string) => ask('select millrace.retry($1)', id);

describe('millrace.retry', () => {
  it.each([
    ['dead_letter', 'redriven', 'pending'],
    ['failed', 'due', 'failed'],
    ['pending', 'not_dead', 'pending'],
    ['dispatched', 'not_dead', 'dispatched'],
    ['running', 'not_dead', 'running'],
    ['succeeded', 'not_dead', 'succeeded'],
  ])('of a job that is %s returns %s', async (status, answer, after) => {
    const id = await jobIn(engine, status);

    const given = await retry(id);

    expect([given, (await job(id)).status]).toEqual([answer, after]);
  });

  it('of a missing job returns not_found', async () => {
    expect(await retry('999999999')).toBe('not_found');
  });

  it('gives a dead job fresh attempts and keeps its claim number until the next claim', async () => {
    const id = await jobIn(engine, 'dead_letter');
    const { claim_no } = await job(id);

    await retry(id);
    const again = await retry(id);

    expect(again).toBe('not_dead');
    expect(await job(id)).toMatchObject({ attempts: 0, claim_no, next_retry_at: null });
    expect(await letters()).toMatchObject([{ status: 'redriven', resolved_by: login.name, resolution: 'sql' }]);
    const { rows } = await pool.query('select event, status, count from millrace.job_events');
    expect(rows).toContainEqual({ event: 'manual_retry', status: 'pending', count: '1' });
    expect((await claim(db, 10)).map((one) => one.id)).toEqual([id]);
  });

  it('makes a failed job due at once and keeps its attempts', async () => {
    const id = await jobIn(engine, 'failed');

    await retry(id);

    expect((await claim(db, 10)).map((one) => one.id)).toEqual([id]);
    expect(await job(id)).toMatchObject({ attempts: 1 });
  });

  it.each(['dead_letter', 'failed'])('does not wait for a locked %s job', async (status) => {
    const id = await jobIn(engine, status);
    const holder = await createClient(engine.test.url);
    await holder.query('begin');
    await holder.query('select from millrace.jobs_live where id = $1 for update', [id]);

    expect(await retry(id)).toBe('busy');
  });

  it('redrives a job once under concurrent calls', async () => {
    const id = await jobIn(engine, 'dead_letter');
    const { claim_no } = await job(id);

    const moved = await Promise.all(
      Array.from({ length: 8 }, () => redrive(db, [{ jobId: id, claimNo: claim_no }], 'console')),
    );

    expect(moved.flat()).toEqual([id]);
    const { rows } = await pool.query(
      `select count(*)::int as n from millrace.job_attempts where outcome = 'redriven'`,
    );
    expect(rows).toEqual([{ n: 1 }]);
  });

  it('redrives no job under another claim', async () => {
    const id = await jobIn(engine, 'dead_letter');

    const moved = await redrive(db, [{ jobId: id, claimNo: '1' }], 'console');

    expect([moved, (await job(id)).status]).toEqual([[], 'dead_letter']);
  });
});
