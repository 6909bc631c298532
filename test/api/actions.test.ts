import { expect, it } from 'vitest';
import { createClient } from '../support/database.ts';
import { insertInState } from './job-states.ts';
import { openApi } from './world.ts';

const { ask, pool, test, woken } = await openApi();

const act = (body: object, scopes?: readonly ('jobs:operate' | 'jobs:delete' | 'jobs:read')[]) =>
  ask('/admin/jobs/actions', { method: 'POST', body, ...(scopes && { scopes }) });
const insertAll = (...states: string[]) => Promise.all(states.map((state) => insertInState(pool, state)));
const statusesOf = async (ids: readonly string[]) => {
  const { rows } = await pool.query('select id::text, status from millrace.jobs where id = any($1)', [ids]);
  const byId = new Map(rows.map(({ id, status }) => [id, status]));
  return ids.map((id) => byId.get(id));
};

it.each([
  ['retry', ['redriven', 'due', 'not_dead', 'not_dead'], ['pending', 'failed', 'pending', 'running']],
  ['cancel', ['cancelled', 'cancelled', 'cancelled', 'requested'], ['cancelled', 'cancelled', 'cancelled', 'running']],
  ['delete', ['deleted', 'deleted', 'deleted', 'in_flight'], [undefined, undefined, undefined, 'running']],
])('the action %s reports the outcome for every job', async (action, answers, left) => {
  const ids = await insertAll('dead_letter', 'failed', 'pending', 'running');

  const { status, body } = await act({ action, ids: [...ids, '4711000'] });

  const byId = new Map(body.items.map(({ id, answer }: { id: string; answer: string }) => [id, answer]));
  expect(status).toBe(200);
  expect([...ids, '4711000'].map((id) => byId.get(id))).toEqual([...answers, 'not_found']);
  expect(await statusesOf(ids)).toEqual(left);
});

it('an action by filter changes the matching jobs page by page, and no job enqueued later', async () => {
  const filter = { status: ['failed'], error: 'special' };
  const fail = async (count: number) => {
    const ids = await insertAll(...Array.from({ length: count }, () => 'failed'));
    await pool.query(`update millrace.jobs_live set last_error = 'Error: special' where id = any($1)`, [ids]);
    return ids;
  };
  const ids = await fail(5);
  const first = await act({ action: 'cancel', ...filter, limit: 3 });
  const [late] = await fail(1);

  const second = await act({ action: 'cancel', ...filter, limit: 3, cursor: first.body.next_cursor });

  expect(first.body).toMatchObject({ changed: 3, has_more: true });
  expect(second.body).toMatchObject({ changed: 2, has_more: false, next_cursor: null });
  expect(await statusesOf([...ids, late!])).toEqual([...ids.map(() => 'cancelled'), 'failed']);
});

it('an action reports a locked job as busy and changes the others', async () => {
  const ids = await insertAll('failed', 'failed', 'failed');
  const client = await createClient(test.url);
  await client.query('begin');
  await client.query('select from millrace.jobs_live where id = $1 for update', [ids[1]]);

  const { body } = await act({ action: 'delete', ids });

  await client.query('rollback');
  const sorted = ids.toSorted((one, other) => Number(one) - Number(other));
  const answers = sorted.map((id) => ({ id, answer: id === ids[1] ? 'busy' : 'deleted' }));
  expect(body).toMatchObject({ changed: 2, items: answers });
});

it('an action records its caller in the audit log, and only a retry wakes the dispatcher', async () => {
  const ids = await insertAll('dead_letter', 'dead_letter');
  const before = woken.length;

  await act({ action: 'cancel', ids: [ids[0]!] });
  const between = woken.length;
  await act({ action: 'retry', ids: [ids[1]!] });

  const { rows } = await pool.query('select distinct actor from millrace.audit_log where job_id = any($1)', [ids]);
  expect([between - before, woken.length - between]).toEqual([0, 1]);
  expect(rows).toEqual([{ actor: 'key:operator' }]);
});

it.each([
  ['retry', ['jobs:delete'], 403],
  ['cancel', ['jobs:delete'], 403],
  ['delete', ['jobs:operate'], 403],
  ['delete', ['jobs:read'], 403],
  ['retry', ['jobs:operate'], 200],
  ['delete', ['jobs:delete'], 200],
] as const)('the action %s by a caller with %j is answered with %i', async (action, scopes, expected) => {
  const { status } = await act({ action, ids: ['4711000'] }, scopes);

  expect(status).toBe(expected);
});

it.each([
  ['nothing', {}],
  ['ids and a filter', { ids: ['1'], status: ['failed'] }],
  ['a filter and all', { status: ['failed'], all: true }],
  ['an empty list as a filter', { status: [] }],
])('an action rejects %s, so that no mistake selects every job', async (_name, which) => {
  const { status, body } = await act({ action: 'delete', ...which });

  expect({ status, pointer: body.errors[0].pointer }).toEqual({ status: 422, pointer: '/ids' });
});
