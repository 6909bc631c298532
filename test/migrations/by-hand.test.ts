import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { applyCancelRequests } from '../../core/jobs/cancel.ts';
import { claim } from '../../core/jobs/claim.ts';
import { redrive } from '../../core/jobs/redrive.ts';
import { createLogin, deploy, insertJobs, markRunning, openEngine } from '../core/runtime-engine.ts';
import { createClient } from '../support/database.ts';

const engine = await openEngine();
const { pool, db } = engine;
const login = await createLogin(engine.test, 'millrace_operator');
await deploy(db, { jobType: 'mail' });

afterAll(async () => {
  await engine.close();
  await login.drop();
});

beforeEach(async () => {
  await pool.query(`delete from millrace.jobs; delete from millrace.dead_letters; delete from millrace.audit_log;
    delete from millrace.cancel_requests; delete from millrace.job_attempts; delete from millrace.job_events`);
});

const ask = async (sql: string, ...values: unknown[]) => {
  const client = await createClient(login.url);
  return Object.values((await client.query<Record<string, unknown>>(sql, values)).rows[0] ?? {})[0];
};
const cancel = (id: string) => ask('select millrace.cancel($1)', id);
const retry = (id: string) => ask('select millrace.retry($1)', id);
const job = async (id: string) => (await pool.query('select * from millrace.jobs where id = $1', [id])).rows[0];
const letters = async () => (await pool.query('select * from millrace.dead_letters order by id')).rows;
const audit = async () => (await pool.query('select action, job_id, actor from millrace.audit_log order by id')).rows;

/** A job in a state, as the engine leaves it there. */
async function jobIn(status: string): Promise<string> {
  const [id] = await insertJobs(pool, 'mail', 1);
  if (status === 'pending') return id!;
  await claim(db, 10);
  if (status === 'dispatched') return id!;
  await markRunning(pool, [id!]);
  if (status === 'failed') {
    await pool.query(
      `update millrace.jobs_live set status = 'failed', next_retry_at = now() + interval '1 hour', lease_expires_at = null,
         last_error = 'boom' where id = $1`,
      [id],
    );
  }
  if (status === 'dead_letter') {
    await pool.query(
      `update millrace.jobs_live set status = 'dead_letter', lease_expires_at = null, last_error = 'boom' where id = $1`,
      [id],
    );
    await pool.query(
      `insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, error_stacktrace)
         select id, claim_no, job_type, routing_key, last_error, 'at x' from millrace.jobs_live where id = $1`,
      [id],
    );
  }
  if (status === 'succeeded') {
    await pool.query(
      `with gone as (delete from millrace.jobs_live where id = $1 returning *)
       insert into millrace.jobs_finished (id, slot, job_type, status, attempts, max_attempts, run_at, finished_at)
         select id, 5, job_type, 'succeeded', attempts, max_attempts, run_at, now() from gone`,
      [id],
    );
  }
  return id!;
}

describe('cancel', () => {
  it.each([
    ['pending', 'cancelled', 'cancelled'],
    ['failed', 'cancelled', 'cancelled'],
    ['dead_letter', 'cancelled', 'cancelled'],
    ['dispatched', 'requested', 'dispatched'],
    ['running', 'requested', 'running'],
    ['succeeded', 'finished', 'succeeded'],
  ])('of a job that is %s answers %s', async (status, answer, after) => {
    const id = await jobIn(status);

    const first = await cancel(id);
    const second = await cancel(id);

    expect([first, (await job(id)).status]).toEqual([answer, after]);
    expect(second).toBe(answer === 'cancelled' ? 'finished' : answer);
  });

  it('of a job that never was answers so', async () => {
    expect(await cancel('999999999')).toBe('not_found');
  });

  it('says who did it, and closes the dead letter', async () => {
    const id = await jobIn('dead_letter');

    await cancel(id);

    expect(await job(id)).toMatchObject({ status: 'cancelled', last_error: `cancelled by ${login.name}`, attempts: 1 });
    expect(await letters()).toMatchObject([{ status: 'discarded', resolved_by: login.name }]);
    expect(await audit()).toEqual([{ action: 'cancel', job_id: id, actor: login.name }]);
  });

  it('does not wait for a waiting job that somebody holds: the request is applied later', async () => {
    const id = await jobIn('pending');
    const holder = await createClient(engine.test.url);
    await holder.query('begin');
    await holder.query('select from millrace.jobs_live where id = $1 for update', [id]);

    const answer = await cancel(id);
    const early = await applyCancelRequests(db, 100);
    await holder.query('rollback');
    const late = await applyCancelRequests(db, 100);

    expect([answer, early, late]).toEqual(['requested', [], [id]]);
    expect((await job(id)).status).toBe('cancelled');
    expect((await pool.query('select * from millrace.cancel_requests')).rows).toEqual([]);
  });

  it('forgets a request whose job is over, and keeps one whose job runs', async () => {
    const over = await jobIn('succeeded');
    const runs = await jobIn('running');
    await cancel(runs);
    await pool.query('insert into millrace.cancel_requests (job_id) values ($1)', [over]);

    await applyCancelRequests(db, 100);

    const { rows } = await pool.query('select job_id from millrace.cancel_requests');
    expect(rows).toEqual([{ job_id: runs }]);
  });

  it('is undone with the caller’s transaction', async () => {
    const id = await jobIn('pending');
    const client = await createClient(login.url);

    await client.query('begin');
    await client.query('select millrace.cancel($1)', [id]);
    await client.query('rollback');

    expect((await job(id)).status).toBe('pending');
  });
});

describe('retry', () => {
  it.each([
    ['dead_letter', 'redriven', 'pending'],
    ['failed', 'due', 'failed'],
    ['pending', 'not_dead', 'pending'],
    ['dispatched', 'not_dead', 'dispatched'],
    ['running', 'not_dead', 'running'],
    ['succeeded', 'not_dead', 'succeeded'],
  ])('of a job that is %s answers %s', async (status, answer, after) => {
    const id = await jobIn(status);

    const given = await retry(id);

    expect([given, (await job(id)).status]).toEqual([answer, after]);
  });

  it('of a job that never was answers so', async () => {
    expect(await retry('999999999')).toBe('not_found');
  });

  it('gives a dead job fresh attempts and leaves its claim until the next', async () => {
    const id = await jobIn('dead_letter');
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

  it('lets a failed job be claimed at once with its attempts as they were', async () => {
    const id = await jobIn('failed');

    await retry(id);

    expect((await claim(db, 10)).map((one) => one.id)).toEqual([id]);
    expect(await job(id)).toMatchObject({ attempts: 1 });
  });

  it.each(['dead_letter', 'failed'])('does not wait for a %s job that somebody holds', async (status) => {
    const id = await jobIn(status);
    const holder = await createClient(engine.test.url);
    await holder.query('begin');
    await holder.query('select from millrace.jobs_live where id = $1 for update', [id]);

    expect(await retry(id)).toBe('busy');
  });

  it('redrives once, however many doors are opened at the same time', async () => {
    const id = await jobIn('dead_letter');
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

  it('redrives nothing under another claim', async () => {
    const id = await jobIn('dead_letter');

    const moved = await redrive(db, [{ jobId: id, claimNo: '1' }], 'console');

    expect([moved, (await job(id)).status]).toEqual([[], 'dead_letter']);
  });
});

describe('failed_jobs', () => {
  it('shows what is dead now in the classic shape', async () => {
    const id = await jobIn('dead_letter');
    await pool.query(`insert into millrace.dead_letters (raw_body, last_error) values ('{{', 'unreadable')`);

    const { rows } = await pool.query('select * from millrace.failed_jobs order by id');

    expect(rows).toMatchObject([
      { job_id: id, job_type: 'mail', status: 'dead_letter', attempts: 1, max_attempts: 5, last_error: 'boom' },
      { job_id: null, status: 'dead_letter', last_error: 'unreadable', input_data: '{{' },
    ]);
    expect(Object.keys(rows[0])).toEqual(
      'id job_id job_type status attempts max_attempts last_error error_stacktrace input_data created_at updated_at'.split(
        ' ',
      ),
    );
    expect(rows[0]).toMatchObject({ error_stacktrace: 'at x', input_data: {} });
  });

  it('discards what is deleted from it', async () => {
    const id = await jobIn('dead_letter');
    await pool.query(`insert into millrace.dead_letters (raw_body) values ('{{')`);
    const client = await createClient(login.url);

    const { rowCount } = await client.query('delete from millrace.failed_jobs');

    expect(rowCount).toBe(2);
    expect((await job(id)).status).toBe('cancelled');
    expect((await letters()).map(({ status, resolved_by }) => [status, resolved_by])).toEqual([
      ['discarded', login.name],
      ['discarded', login.name],
    ]);
    expect((await pool.query('select * from millrace.failed_jobs')).rows).toEqual([]);
  });

  it('leaves a job alone that is being redriven at that moment, and asks for nothing behind its back', async () => {
    const id = await jobIn('dead_letter');
    const redriving = await createClient(engine.test.url);
    await redriving.query('begin');
    await redriving.query('select millrace.retry($1)', [id]);

    const { rowCount } = await pool.query('delete from millrace.failed_jobs');
    await redriving.query('commit');
    await applyCancelRequests(db, 100);

    expect(rowCount).toBe(0);
    expect((await job(id)).status).toBe('pending');
  });

  it('leaves a job alone that was redriven after the deleting statement began', async () => {
    const id = await jobIn('dead_letter');
    const deleting = await createClient(engine.test.url);
    await deleting.query('begin isolation level repeatable read');
    await deleting.query('select from millrace.failed_jobs');
    await retry(id);

    const outcome = await deleting.query('delete from millrace.failed_jobs').then(
      ({ rowCount }) => rowCount,
      (error: { code: string }) => error.code,
    );
    await deleting.query('rollback');

    expect(['40001', 0]).toContain(outcome);
    expect((await job(id)).status).toBe('pending');
  });
});
