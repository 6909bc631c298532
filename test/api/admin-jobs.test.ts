import { describe, expect, it } from 'vitest';
import { createClient } from '../support/database.ts';
import { insertInState } from './job-states.ts';
import { openApi } from './world.ts';

const { ask, pool, test, woken } = await openApi();

const one = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows[0];
const insertAs = (status: string) => insertInState(pool, status);
const insert = async () =>
  (await one(`insert into millrace.jobs (job_type) values ('mail') returning id`)).id as string;

async function insertFinished(): Promise<string> {
  const id = await insert();
  await pool.query('select millrace.cancel($1)', [id]);
  return id;
}

describe('GET /admin/jobs/:id', () => {
  it('shows a job with its attempts, and its payload only to callers with payload:read', async () => {
    const id = await insertAs('dead_letter');

    const all = await ask(`/admin/jobs/${id}`);
    const some = await ask(`/admin/jobs/${id}`, { scopes: ['jobs:read'] });

    expect(all.body).toMatchObject({
      id,
      payload: {},
      payload_restricted: false,
      waiting: expect.stringContaining('dead'),
    });
    expect(all.body.attempt_history).toMatchObject([{ outcome: 'failed', error_message: 'no', delay_seconds: 60 }]);
    expect(some.body).toMatchObject({ id, payload_restricted: true });
    expect(some.body).not.toHaveProperty('payload');
  });
});

describe('GET /admin/jobs/:id of a job with a long history', () => {
  const insertAttempts = async (count: number, message: string, stack: string) => {
    const { id } = await one(`insert into millrace.jobs (job_type, run_at) values ('any', now() + interval '1 day')
                                returning id`);
    await pool.query(
      `insert into millrace.job_attempts (job_id, attempt, outcome, error_name, error_message, error_stacktrace)
         select $1, g, 'failed', 'Error', repeat($3, 8000), repeat($4, 32000) from generate_series(1, $2::integer) g`,
      [id, count, message, stack],
    );
    return id;
  };

  it.each([
    [1000, 'm', 's'],
    [1000, '\u{1}', '\u{1}'],
    [100, '€', '€'],
  ])('shows the newest of %i attempts with %j in less than 6 MB', async (count, message, stack) => {
    const id = await insertAttempts(count, message, stack);

    const { text, body } = await ask(`/admin/jobs/${id}`);

    const numbers = body.attempt_history.map(({ attempt }: { attempt: number }) => attempt);
    expect(Buffer.byteLength(text)).toBeLessThan(4_000_000);
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, n) => count - n));
    expect(body.attempt_history[0]).toMatchObject({ error_stacktrace: stack.repeat(32_000) });
    expect(body.attempt_history[99]).toMatchObject({ error_stacktrace: null });
    expect(body.more_attempts).toBe(count > 100);
  });

  it('shows a short history whole', async () => {
    const { body } = await ask(`/admin/jobs/${await insertAttempts(3, 'm', 's')}`);

    const stacks = body.attempt_history.map((attempt: { error_stacktrace: string }) => attempt.error_stacktrace);
    expect(stacks).toEqual(Array(3).fill('s'.repeat(32_000)));
    expect(body.more_attempts).toBe(false);
  });
});

describe('POST /admin/jobs/:id/retry', () => {
  it('gives a dead job fresh attempts once and records the caller in the audit log', async () => {
    const id = await insertAs('dead_letter');
    const before = woken.length;

    const first = await ask(`/admin/jobs/${id}/retry`, { method: 'POST' });
    const second = await ask(`/admin/jobs/${id}/retry`, { method: 'POST' });

    expect(first).toMatchObject({ status: 200, body: { id, status: 'pending', attempts: 0, answer: 'redriven' } });
    expect(second.status).toBe(409);
    expect(woken.length).toBe(before + 1);
    expect(await one('select actor, action from millrace.audit_log where job_id = $1', [id])).toEqual({
      actor: 'key:operator',
      action: 'redrive',
    });
    const counted = `select sum(count)::int as n from millrace.job_events where event = 'manual_retry' and status = 'pending'`;
    expect(await one(counted)).toEqual({ n: 1 });
  });

  it('makes a failed job due now', async () => {
    const id = await insertAs('failed');

    const { status, body } = await ask(`/admin/jobs/${id}/retry`, { method: 'POST' });

    expect({ status, answer: body.answer, job: body.status }).toEqual({ status: 200, answer: 'due', job: 'failed' });
    expect(Date.parse(body.next_retry_at)).toBeLessThanOrEqual(Date.now());
  });

  it.each(['pending', 'dispatched', 'running'])('answers 409 for a %s job', async (status) => {
    const id = await insertAs(status);

    const reply = await ask(`/admin/jobs/${id}/retry`, { method: 'POST' });

    expect(reply).toMatchObject({ status: 409, body: { detail: expect.stringContaining(status) } });
  });

  it('answers 409 while another transaction holds the row', async () => {
    const id = await insertAs('dead_letter');
    const holder = await createClient(test.url);
    await holder.query('begin');
    await holder.query('select from millrace.jobs_live where id = $1 for update', [id]);

    const { status, body } = await ask(`/admin/jobs/${id}/retry`, { method: 'POST' });

    await holder.query('rollback');
    expect({ status, type: body.type }).toEqual({ status: 409, type: '/problems/in-progress' });
  });

  it('answers 404 for an unknown job', async () => {
    expect((await ask('/admin/jobs/4711/retry', { method: 'POST' })).status).toBe(404);
  });
});

describe('DELETE /admin/jobs/:id', () => {
  const remove = (id: string) => ask(`/admin/jobs/${id}`, { method: 'DELETE' });

  it.each(['pending', 'failed', 'dead_letter'])('deletes a %s job and keeps an audit event', async (status) => {
    const id = await insertAs(status);

    const first = await remove(id);
    const second = await remove(id);

    expect([first.status, second.status]).toEqual([204, 404]);
    expect(await one('select actor, action, details from millrace.audit_log where job_id = $1', [id])).toEqual({
      actor: 'key:operator',
      action: 'delete',
      details: { job_type: 'mail', status },
    });
    expect(await one('select count(*)::int as n from millrace.job_attempts where job_id = $1', [id])).toEqual({ n: 0 });
    const open = `select count(*)::int as n from millrace.dead_letters where job_id = $1 and status = 'open'`;
    expect(await one(open, [id])).toEqual({ n: 0 });
  });

  it('deletes a finished job', async () => {
    const id = await insertFinished();

    const { status } = await remove(id);

    expect(status).toBe(204);
    expect(await one('select count(*)::int as n from millrace.jobs where id = $1', [id])).toEqual({ n: 0 });
  });

  it.each(['dispatched', 'running'])('answers 409 for a %s job and does not delete it', async (status) => {
    const id = await insertAs(status);

    const reply = await remove(id);

    expect(reply).toMatchObject({ status: 409, body: { type: '/problems/invalid-state' } });
    expect(await one('select status from millrace.jobs where id = $1', [id])).toEqual({ status });
  });

  it('answers 409 while another transaction holds the row', async () => {
    const id = await insert();
    const holder = await createClient(test.url);
    await holder.query('begin');
    await holder.query('select from millrace.jobs_live where id = $1 for update', [id]);

    const { status } = await remove(id);

    await holder.query('rollback');
    expect(status).toBe(409);
  });
});

describe('POST /admin/jobs/process', () => {
  it('runs a round of the dispatcher and returns its counts', async () => {
    const { status, body } = await ask('/admin/jobs/process', { method: 'POST' });

    expect({ status, body }).toEqual({ status: 200, body: { claimed: 2, sent: 1 } });
  });
});
