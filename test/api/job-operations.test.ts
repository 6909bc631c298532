import { beforeEach, expect, it } from 'vitest';
import type { Scope } from '../../core/access/scopes.ts';
import { workOffOperations } from '../../core/dispatch/work-off-operations.ts';
import { emptyTables } from '../../core/testing/empty-tables.ts';
import { stillTime } from '../support/still-time.ts';
import { insertInState } from './job-states.ts';
import { openApi } from './world.ts';

const { ask, pool, db, deps } = await openApi();
beforeEach(() => emptyTables(pool));

const post = (path: string, body?: object, scopes?: readonly Scope[]) =>
  ask(`/admin/operations${path}`, { method: 'POST', ...(body && { body }), ...(scopes && { scopes }) });
const round = () => workOffOperations({ db, log: deps.log, time: stillTime() });

it('previews an operation, starts it as of the preview, and shows its progress', async () => {
  await Promise.all(['pending', 'failed', 'failed'].map((status) => insertInState(pool, status)));
  const filter = { action: 'cancel', status: ['failed'] };

  const preview = await post('?dry_run=true', filter);
  const late = await insertInState(pool, 'failed');
  const started = await post('', { ...filter, as_of: preview.body.as_of, reason: 'wrong customer' });
  await round();
  const shown = await ask(`/admin/operations/${started.body.id}`);
  const list = await ask('/admin/operations?status=done&kind=cancel');

  expect(preview).toMatchObject({
    status: 200,
    body: { matched: 2, complete: true, counts: [{ status: 'failed', job_type: 'mail', routing_key: '', jobs: 2 }] },
  });
  expect(started).toMatchObject({ status: 202, body: { kind: 'cancel', status: 'running', expected: 2, done: 0 } });
  expect(shown.body).toMatchObject({
    ...{ status: 'done', done: 2, left: {}, examined: 1, reason: 'wrong customer', filter: { status: ['failed'] } },
  });
  expect(list.body.items).toEqual([shown.body]);
  expect((await ask(`/admin/jobs/${late}`)).body.status).toBe('failed');
});

it('pauses, resumes and cancels an operation', async () => {
  await insertInState(pool, 'pending');
  const { id } = (await post('', { action: 'cancel', all: true, rate: 0.001 })).body;

  const paused = await post(`/${id}/pause`);
  const again = await post(`/${id}/pause`);
  const resumed = await post(`/${id}/resume`);
  const cancelled = await post(`/${id}/cancel`);
  const unknown = await post('/4711/cancel');

  expect([paused.body.status, resumed.body.status, cancelled.body.status]).toEqual(['paused', 'running', 'cancelled']);
  expect([again.status, unknown.status]).toEqual([409, 404]);
});

it('requires jobs:delete to delete, and to pause a deletion', async () => {
  const { id } = (await post('', { action: 'delete', all: true })).body;
  const operator = ['jobs:operate', 'jobs:read'] as const;

  const refused = [
    await post('', { action: 'delete', all: true }, operator),
    await post(`/${id}/cancel`, undefined, operator),
    await post('', { action: 'cancel', all: true }, ['jobs:delete']),
    await post('', { action: 'cancel', payload: ['a=1'] }, operator),
  ];

  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
});

it('hides the condition on a payload from callers without payload:read', async () => {
  const { id } = (await post('', { action: 'cancel', payload: ['customer.id=42'], limit: 5 })).body;

  const seen = await ask(`/admin/operations/${id}`);
  const hidden = await ask(`/admin/operations/${id}`, { scopes: ['jobs:read'] });
  const audit = await ask('/admin/audit', { scopes: ['audit:read', 'jobs:read'] });

  expect(seen.body.filter).toMatchObject({ payload: ['customer.id=42'], limit: 5 });
  expect(hidden.body.filter).not.toHaveProperty('payload');
  expect(audit.body.items[0].details.filter).toEqual({ limit: 5 });
});

it.each([
  [{ action: 'cancel' }, '/all', 'send a filter, or all: true to select every job that the action can change'],
  [{ action: 'cancel', all: true, error: 'x' }, '/all', 'send a filter or all: true, not both'],
  [
    { action: 'retry', status: ['pending'] },
    '/status',
    expect.stringContaining('retry can change: failed, dead_letter'),
  ],
  [{ action: 'retry', all: true, priority: 1 }, '/priority', 'only the action reschedule accepts it'],
  [{ action: 'reschedule', all: true }, '/run_at', 'send run_at, priority or both'],
  [{ action: 'reschedule', all: true, run_at: 'x' }, '/run_at', expect.stringContaining('expected now or a time')],
  [{ action: 'cancel', payload: ['x'] }, '/payload/0', expect.stringContaining('such as customer.id=42')],
  [{ action: 'cancel', attempts_from: 3, attempts_to: 2 }, '/attempts_to', '2 is less than attempts_from, 3'],
  [{ action: 'cancel', reason: '', all: true }, '/reason', 'expected at least one character'],
])('names the field that it refuses: %j', async (body, pointer, detail) => {
  const { status, body: problem } = await post('', body);

  expect(status).toBe(422);
  expect(problem.errors).toEqual([{ in: 'body', pointer, detail }]);
});

it('an as_of in the future is refused', async () => {
  const answered = await post('', { action: 'cancel', all: true, as_of: '2999-01-01T00:00:00Z' });

  expect(answered).toMatchObject({ status: 422, body: { errors: [{ pointer: '/as_of' }] } });
});

it.each([
  ['payload', 'customer.id=42', 1],
  ['payload', 'customer.id=4', 0],
  ['payload', 'customer=x', 0],
  ['group_key', 'acme', 1],
  ['attempts_from', '1', 1],
  ['attempts_to', '0', 1],
])('a list of jobs has the same filter: %s=%s', async (name, value, count) => {
  await insertInState(pool, 'failed');
  await pool.query(
    `insert into millrace.jobs (job_type, payload, group_key) values ('mail', '{"customer": {"id": 42}}', 'acme')`,
  );

  const { status, body } = await ask(`/admin/jobs?${name}=${value}`);

  expect([status, body.items.length]).toEqual([200, count]);
});
