import { describe, expect, it } from 'vitest';
import { applyCancelRequests } from '../../core/jobs/cancel.ts';
import { createClient } from '../support/database.ts';
import { jobIn } from './job-in.ts';
import { openOperator } from './operator.ts';

const { engine, ask, job, letters, login } = await openOperator();
const { pool, db } = engine;
const cancel = (id: string) => ask('select millrace.cancel($1)', id);
const audit = async () => (await pool.query('select action, job_id, actor from millrace.audit_log order by id')).rows;

describe('millrace.cancel', () => {
  it.each([
    ['pending', 'cancelled', 'cancelled'],
    ['failed', 'cancelled', 'cancelled'],
    ['dead_letter', 'cancelled', 'cancelled'],
    ['dispatched', 'requested', 'dispatched'],
    ['running', 'requested', 'running'],
    ['succeeded', 'finished', 'succeeded'],
  ])('of a job that is %s returns %s', async (status, answer, after) => {
    const id = await jobIn(engine, status);

    const first = await cancel(id);
    const second = await cancel(id);

    expect([first, (await job(id)).status]).toEqual([answer, after]);
    expect(second).toBe(answer === 'cancelled' ? 'finished' : answer);
  });

  it('of a missing job returns not_found', async () => {
    expect(await cancel('999999999')).toBe('not_found');
  });

  it('stores the actor, and closes the dead letter', async () => {
    const id = await jobIn(engine, 'dead_letter');

    await cancel(id);

    expect(await job(id)).toMatchObject({ status: 'cancelled', last_error: `cancelled by ${login.name}`, attempts: 1 });
    expect(await letters()).toMatchObject([{ status: 'discarded', resolved_by: login.name }]);
    expect(await audit()).toEqual([{ action: 'cancel', job_id: id, actor: login.name }]);
  });

  it('does not wait for a locked job: the request is applied later', async () => {
    const id = await jobIn(engine, 'pending');
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

  it('deletes the request of a finished job, and keeps that of a running one', async () => {
    const over = await jobIn(engine, 'succeeded');
    const runs = await jobIn(engine, 'running');
    await cancel(runs);
    await pool.query('insert into millrace.cancel_requests (job_id) values ($1)', [over]);

    await applyCancelRequests(db, 100);

    const { rows } = await pool.query('select job_id from millrace.cancel_requests');
    expect(rows).toEqual([{ job_id: runs }]);
  });

  it.each([
    { what: 'waiting jobs, behind those of 1000 jobs in flight', inFlight: 1000, waiting: 3, expected: [3] },
    { what: 'more waiting jobs than one call applies', inFlight: 0, waiting: 250, expected: [100, 100, 50] },
    { what: 'waiting jobs, behind more than one call checks', inFlight: 6000, waiting: 3, expected: [0, 3] },
  ])('is applied to $what', async ({ inFlight, waiting, expected }) => {
    await pool.query(
      `with j as (insert into millrace.jobs_live (job_type, status, claim_no, lease_expires_at, max_attempts)
         select 'mail', 'dispatched', 1, now() + interval '4 days', 5 from generate_series(1, $1::int) returning id)
       insert into millrace.cancel_requests (job_id) select id from j`,
      [inFlight],
    );
    await pool.query(
      `with j as (insert into millrace.jobs_live (job_type, max_attempts)
         select 'mail', 5 from generate_series(1, $1::int) returning id)
       insert into millrace.cancel_requests (job_id) select id from j`,
      [waiting],
    );

    const applied: number[] = [];
    for (const _call of expected) applied.push((await applyCancelRequests(db, 100)).length);

    expect(applied).toEqual(expected);
    expect((await pool.query('select from millrace.cancel_requests')).rowCount).toBe(inFlight);
  });

  it('is rolled back with the caller’s transaction', async () => {
    const id = await jobIn(engine, 'pending');
    const client = await createClient(login.url);

    await client.query('begin');
    await client.query('select millrace.cancel($1)', [id]);
    await client.query('rollback');

    expect((await job(id)).status).toBe('pending');
  });
});
