import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runReminders } from '../app/run-reminders.ts';
import { adminKey, call, eventually, pool } from './stack.ts';

const STATUSES = ['pending', 'dispatched', 'running', 'failed', 'dead_letter', 'succeeded', 'skipped', 'cancelled'];
const EVENTS = ['enqueued', 'succeeded', 'failed', 'retried', 'dead_lettered', 'manual_retry', 'skipped', 'cancelled'];

const keys: Record<string, string> = {};

before(async () => {
  keys.admin = await adminKey();
  for (const scope of ['producer', 'viewer']) {
    const { body } = await call(keys.admin, 'POST /admin/api-keys', { name: scope, scopes: [scope] });
    keys[scope] = body.secret;
  }
});

after(() => pool.end());

async function remind(recipient: string): Promise<string> {
  const text = `insert into reminders (recipient, subject, due_at) values ($1, 'Tea', now()) returning id`;
  return (await pool.query(text, [recipient])).rows[0].id;
}

/** Enqueues a job for a reminder, as a producer. */
async function send(reminder: string, options: object = {}): Promise<string> {
  const { status, body } = await call(keys.producer, 'POST /jobs', {
    ...{ job_type: 'send_reminder', payload: { reminder } },
    ...options,
  });
  assert.equal(status, 201);
  return body.id;
}

async function untilStatus(id: string, status: string): Promise<Record<string, unknown>> {
  return eventually(async () => {
    const { body } = await call(keys.admin, `GET /admin/jobs/${id}`);
    assert.equal(body.status, status, JSON.stringify(body));
    return body;
  });
}

test('a failed send is retried, then quarantined, then retried by hand, and only then is sent_at set', async () => {
  const reminder = await remind('');
  const sentAt = async () =>
    (await pool.query('select sent_at from reminders where id = $1', [reminder])).rows[0].sent_at;
  const [id = ''] = await runReminders(pool);

  const failed = await untilStatus(id, 'failed');
  // Without waiting for the delays of 30 s, 2 min and 8 min: a retry by hand makes the failed job due.
  for (const attempt of [2, 3, 4]) {
    await call(keys.admin, `POST /admin/jobs/${id}/retry`);
    await eventually(async () => {
      assert.equal((await call(keys.admin, `GET /admin/jobs/${id}`)).body.attempts, attempt);
    });
    await untilStatus(id, attempt < 4 ? 'failed' : 'dead_letter');
  }
  const unsent = await sentAt();
  await pool.query(`update reminders set recipient = 'ada@example.com' where id = $1`, [reminder]);
  const retried = await call(keys.admin, `POST /admin/jobs/${id}/retry`);
  await untilStatus(id, 'succeeded');

  assert.deepEqual([failed.attempts, failed.max_attempts, failed.last_error], [1, 4, 'No recipients defined']);
  assert.equal(unsent, null);
  assert.deepEqual([retried.status, retried.body.answer], [200, 'redriven']);
  assert.notEqual(await sentAt(), null);
});

test('the statistics count the jobs in all eight statuses, by status and by job type', async () => {
  await untilStatus(await send(await remind('ada@example.com')), 'succeeded');
  await untilStatus(await send('999999'), 'skipped');
  await untilStatus(await send(await remind('')), 'failed');
  await untilStatus(await send(await remind(''), { max_attempts: 1 }), 'dead_letter');
  await send('1', { delay: '1h' });
  const cancelled = await send('1', { delay: '1h' });
  assert.equal((await call(keys.producer, `POST /jobs/${cancelled}/cancel`)).status, 200);
  // Two jobs run at a time, and a third waits in SQS: all of them wait for the rows that this transaction has locked.
  const client = await pool.connect();
  await client.query('begin');
  const { rows } = await client.query(`insert into reminders (recipient, subject, due_at)
    select 'ada@example.com', 'Tea', now() + interval '1 day' from generate_series(1, 3) returning id`);
  await client.query('commit; begin');
  await client.query('select from reminders where id = any($1) for update', [rows.map(({ id }) => id)]);
  const ids = await Promise.all(rows.map(({ id }) => send(id)));

  const stats = await eventually(async () => {
    const { body } = await call(keys.viewer, 'GET /admin/jobs/stats');
    assert.deepEqual([body.by_status.running, body.by_status.dispatched], [2, 1]);
    return body;
  });
  await client.query('rollback');
  client.release();
  for (const id of ids) await untilStatus(id, 'succeeded');

  for (const counts of [stats.by_status, stats.by_job_type.send_reminder]) {
    assert.deepEqual(Object.keys(counts), STATUSES);
    assert.deepEqual(
      STATUSES.filter((status) => !(counts[status] > 0)),
      [],
    );
  }
});

test('the counter of events has all eight events of the job type', async () => {
  const { body } = await call(keys.viewer, 'GET /metrics');

  const counter = /^millrace_job_events_total\{event="(\w+)",job_type="send_reminder",status="\w+"\} [1-9]/gm;
  const events = new Set([...body.matchAll(counter)].map(([, event]) => event));
  assert.deepEqual([...events].toSorted(), EVENTS.toSorted());
});

test('the six endpoints of operators answer 401 without a key, and 403 where a role may not act', async () => {
  const failed = await send(await remind(''));
  await untilStatus(failed, 'failed');
  const requests = [
    ...['GET /admin/jobs/stats', 'GET /admin/jobs', `GET /admin/jobs/${failed}`],
    ...[`POST /admin/jobs/${failed}/retry`, 'POST /admin/jobs/process', `DELETE /admin/jobs/${failed}`],
  ];

  const statuses = async (key: string | undefined) => {
    const all = [];
    for (const request of requests) {
      // A job in flight cannot be deleted.
      if (key === keys.admin && request.startsWith('DELETE')) await untilStatus(failed, 'failed');
      all.push((await call(key, request)).status);
    }
    return all;
  };

  assert.deepEqual(await statuses(undefined), [401, 401, 401, 401, 401, 401]);
  assert.deepEqual(await statuses('millrace_unknown'), [401, 401, 401, 401, 401, 401]);
  assert.deepEqual(await statuses(keys.producer), [403, 403, 403, 403, 403, 403]);
  assert.deepEqual(await statuses(keys.viewer), [200, 200, 200, 403, 403, 403]);
  assert.deepEqual(await statuses(keys.admin), [200, 200, 200, 200, 200, 204]);
});

test('a type without a handler is 404 over HTTP, and dead after 24 hours if SQL inserted it', async () => {
  const refused = await call(keys.producer, 'POST /jobs', { job_type: 'send_fax', payload: {} });
  const { rows } = await pool.query(`insert into millrace.jobs (job_type) values ('send_fax') returning id`);
  const [{ id }] = rows;
  const waiting = await call(keys.admin, `GET /admin/jobs/${id}`);
  // A day has passed for this job.
  const aged = `update millrace.jobs_live
    set run_at = run_at - interval '1 day', created_at = created_at - interval '1 day' where id = $1`;
  await pool.query(aged, [id]);
  const dead = await untilStatus(id, 'dead_letter');

  assert.equal(refused.status, 404);
  assert.match(refused.body.detail, /no handler for send_fax is deployed/);
  assert.equal(waiting.body.status, 'pending');
  assert.deepEqual([dead.attempts, dead.last_error], [0, 'no handler for send_fax']);
});
