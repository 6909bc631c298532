import { beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../api/app.ts';
import { stepRedrive } from '../../core/dead-letters/redrive-operation.ts';
import { STATUSES } from '../../core/job.ts';
import { askApp, openApi } from './world.ts';

const { ask, pool, db, deps } = await openApi();

const bury = (jobType: string, error: string, count: number) =>
  pool.query(
    `with job as (
       insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, last_error)
         select $1, 'dead_letter', 1, 1, 1, $2 from generate_series(1, $3::int) returning id
     )
     insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint)
       select id, 1, $1, '', $2, md5($2) from job returning job_id`,
    [jobType, error, count],
  );

beforeEach(async () => {
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.dead_letters; delete from millrace.operations',
  );
});

describe('GET /admin/dlq', () => {
  it('lists dead letters by a filter, page by page', async () => {
    await bury('mail', 'Error: <script>alert(1)</script>', 5);
    await bury('any', 'Error: other', 1);

    const first = await ask('/admin/dlq?limit=3&error=SCRIPT');
    const second = await ask(`/admin/dlq?limit=3&error=SCRIPT&cursor=${first.body.next_cursor}`);

    expect(first.body).toMatchObject({ has_more: true, items: [{ job_type: 'mail', attempts: 1 }, {}, {}] });
    expect(second.body).toMatchObject({ has_more: false, next_cursor: null, items: [{}, {}] });
    expect(first.body.items[0]).toMatchObject({ dead_letter_id: expect.any(String), job_id: expect.any(String) });
    expect(first.body.items[0]).not.toHaveProperty('id');
    expect((await ask(`/admin/dlq?cursor=${first.body.next_cursor}`)).status).toBe(400);
  });

  it('groups dead letters by error, largest group first', async () => {
    await bury('mail', 'Error: a', 1);
    await bury('any', 'Error: b', 3);

    const { body } = await ask('/admin/dlq/groups?limit=1');

    expect(body).toMatchObject({ total: 4, groups: 2, has_more: true });
    expect(body.items).toMatchObject([{ jobs: 3, handlers: ['any'], last_error: 'Error: b' }]);
  });
});

describe('POST /admin/redrives', () => {
  const start = (body: unknown, query = '') => ask(`/admin/redrives${query}`, { method: 'POST', body });

  it('previews a redrive with dry_run and moves nothing', async () => {
    await bury('mail', 'Error: a', 2);
    await bury('gone', 'Error: a', 1);

    const { status, body } = await start({ all: true }, '?dry_run=true');

    expect(status).toBe(200);
    expect(body).toMatchObject({ movable: 2, total: 3, handlers: [{ verdict: 'movable' }, { verdict: 'no_handler' }] });
    expect((await pool.query('select from millrace.operations')).rowCount).toBe(0);
  });

  it('starts a redrive for the dispatcher and shows its progress', async () => {
    await bury('mail', 'Error: a', 2);
    await bury('any', 'Error: a', 1);

    const { status, headers, body } = await start({ job_type: ['mail'], rate: 50 });
    const running = await ask(headers.get('location') as string);
    await pool.query("update millrace.operations set stepped_at = now() - interval '1 minute'");
    await stepRedrive(db, body.id, 100);
    await stepRedrive(db, body.id, 100);
    const moved = await ask(headers.get('location') as string);

    expect({ status, by: body.requested_by, expected: body.expected }).toEqual({
      status: 202,
      by: 'key:operator',
      expected: 2,
    });
    expect(running.body).toMatchObject({ status: 'running', done: 0, rate_per_second: 50 });
    expect(moved.body).toMatchObject({ done: 2 });
  });

  it('cancels a redrive once', async () => {
    await bury('mail', 'Error: a', 2);
    const { body } = await start({ all: true });
    const cancel = () => ask(`/admin/redrives/${body.id}/cancel`, { method: 'POST' });

    const first = await cancel();
    const second = await cancel();

    expect(first).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect(second.status).toBe(409);
  });

  it.each([
    ['no filter', {}],
    ['a filter and all', { all: true, error: 'x' }],
    ['a rate of 0', { all: true, rate: 0 }],
    ['a rate beyond 10,000', { all: true, rate: 10_001 }],
    ['an invalid id', { id: ['x'] }],
  ])('answers 422 for %s', async (_name, body) => {
    expect((await start(body)).status).toBe(422);
  });

  it('answers 404 for an unknown redrive', async () => {
    expect((await ask('/admin/redrives/4711')).status).toBe(404);
    expect((await ask('/admin/redrives/4711/cancel', { method: 'POST' })).status).toBe(404);
  });
});

describe('/admin/handlers', () => {
  it('lists the deployed handlers', async () => {
    const { body } = await ask('/admin/handlers');

    expect(body.items.map(({ id }: { id: string }) => id)).toEqual(['any', 'any.fast', 'keyed.strict', 'mail']);
    expect(body.items[0]).toMatchObject({ paused_at: null, in_flight: 0, max_attempts: 5 });
    expect(body.items[0].jobs).toEqual({ pending: 0, dispatched: 0, running: 0, failed: 0, dead_letter: 0 });
  });

  it('pauses and resumes a handler, with an audit event for each change', async () => {
    const put = (verb: string) => ask(`/admin/handlers/any.fast/${verb}`, { method: 'PUT' });
    await pool.query('delete from millrace.audit_log');

    const paused = await put('pause');
    const again = await put('pause');
    const resumed = await put('resume');

    expect(paused.body).toMatchObject({ id: 'any.fast', paused_at: expect.any(String) });
    expect(again.body.paused_at).toBe(paused.body.paused_at);
    expect(resumed.body.paused_at).toBeNull();
    const { body } = await ask('/admin/audit?actor=key:operator');
    expect(body.items.map(({ action }: { action: string }) => action)).toEqual(['resume', 'pause']);
  });

  it.each(['pause', 'resume'])('answers 404 to a %s of an unknown handler', async (verb) => {
    expect((await ask(`/admin/handlers/none/${verb}`, { method: 'PUT' })).status).toBe(404);
  });
});

describe('GET /admin/audit', () => {
  it('lists audit events page by page, by actor and by job', async () => {
    await pool.query(`delete from millrace.audit_log;
      insert into millrace.audit_log (actor, action, job_id) select 'ada', 'retry', n from generate_series(1, 5) n`);

    const first = await ask('/admin/audit?limit=3&actor=ada');
    const second = await ask(`/admin/audit?limit=3&actor=ada&cursor=${first.body.next_cursor}`);
    const job = await ask('/admin/audit?job_id=4');

    expect(first.body.items.map((line: { job_id: string }) => line.job_id)).toEqual(['5', '4', '3']);
    expect(second.body.items.map((line: { job_id: string }) => line.job_id)).toEqual(['2', '1']);
    expect(job.body.items).toHaveLength(1);
  });
});

describe('the numbers of the API', () => {
  it('count the jobs by status and job type', async () => {
    await bury('mail', 'Error: a', 2);
    await pool.query(`insert into millrace.jobs (job_type, run_at) values ('any', now() - interval '1 minute')`);
    const before = await ask('/admin/jobs/stats');
    await pool.query(`select millrace.cancel(id) from millrace.enqueue('any', '{}')`);

    const { status, body } = await ask('/admin/jobs/stats');

    expect(status).toBe(200);
    expect(body).toMatchObject({
      by_status: { pending: 1, dead_letter: 2, running: 0, cancelled: before.body.by_status.cancelled + 1 },
      by_job_type: { mail: { dead_letter: 2, pending: 0 }, any: { pending: 1 } },
      throughput: { last_5_minutes: { enqueued: expect.any(Number) }, last_hour: {} },
    });
    expect(Object.keys(body.by_status)).toEqual(STATUSES);
    expect(Object.keys(body.by_job_type.mail)).toEqual(STATUSES);
    expect(body.oldest_due_seconds).toBeGreaterThanOrEqual(60);
  });

  it('are metrics in the text format of Prometheus', async () => {
    const { status, headers, text } = await ask('/metrics', { scopes: ['metrics:read'] });

    expect({ status, type: headers.get('content-type') }).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
    });
    expect(text).toContain('millrace_build_info{version="1.2.3"');
  });
});

describe('POST /admin/jobs/process', () => {
  it('answers 503 when the dispatcher fails', async () => {
    const processNow = () => Promise.reject(new Error('throttled'));
    const app = createApp({ ...deps, dispatcher: { ...deps.dispatcher, processNow } });

    const { status, body } = await askApp(app, '/admin/jobs/process', { method: 'POST' });

    expect({ status, type: body.type }).toEqual({ status: 503, type: '/problems/dispatcher-unavailable' });
  });
});
