import { describe, expect, it } from 'vitest';
import { ROLES } from '../../core/access/scopes.ts';
import { createClient } from '../support/database.ts';
import { createLogin } from '../support/runtime-engine.ts';
import { insertInState } from './job-states.ts';
import { openApi } from './world.ts';

const { ask, pool, test } = await openApi();

const one = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows[0];
const insertAs = (status: string) => insertInState(pool, status);

describe('POST /jobs/:id/cancel', () => {
  it('cancels a dead job and records the caller', async () => {
    const id = await insertAs('dead_letter');

    await ask(`/jobs/${id}/cancel`, { method: 'POST' });

    expect(await one('select last_error from millrace.jobs where id = $1', [id])).toEqual({
      last_error: 'cancelled by key:operator',
    });
    expect(await one('select status, resolved_by from millrace.dead_letters where job_id = $1', [id])).toEqual({
      status: 'discarded',
      resolved_by: 'key:operator',
    });
  });

  it('records the login itself when it lacks the rights of the runtime to set an actor', async () => {
    const id = await insertAs('dead_letter');
    const operator = await createLogin(test, 'millrace_operator');
    const client = await createClient(operator.url);

    await client.query(`set millrace.actor = 'key:operator'`);
    await client.query('select millrace.cancel($1)', [id]);

    const { rows } = await pool.query('select actor from millrace.audit_log where job_id = $1', [id]);
    expect(rows).toEqual([{ actor: operator.name }]);
  });

  it('requests the cancellation of a running job and answers 202', async () => {
    const id = await insertAs('running');

    const { status, body } = await ask(`/jobs/${id}/cancel`, { method: 'POST' });

    expect({ status, body }).toEqual({ status: 202, body: { id, answer: 'requested' } });
    const request = 'select requested_by from millrace.cancel_requests where job_id = $1';
    expect(await one(request, [id])).toEqual({ requested_by: 'key:operator' });
  });

  it.each([
    ['producer', 200],
    ['operator', 200],
    ['viewer', 403],
  ] as const)('answers a caller with the role %s with %i', async (role, expected) => {
    const id = await insertAs('pending');

    const { status } = await ask(`/jobs/${id}/cancel`, { method: 'POST', scopes: ROLES[role] });

    const left = await one('select status from millrace.jobs where id = $1', [id]);
    expect({ status, left }).toEqual({
      status: expected,
      left: { status: expected === 200 ? 'cancelled' : 'pending' },
    });
  });
});
