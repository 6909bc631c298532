import { describe, expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../core/access/scopes.ts';
import { openApi } from './world.ts';

const { ask, pool } = await openApi();

type Json = Record<string, unknown>;

describe('the details of an audit event', () => {
  const detailsFor = async (scopes: readonly Scope[]) =>
    (await ask('/admin/audit', { scopes })).body.items.map(({ details }: { details: Json }) => details);

  it('show the filter of a redrive to callers with jobs:read only', async () => {
    const body = { error: 'card 4111', routing_key: '' };
    await ask('/admin/redrives', { method: 'POST', body });

    const [some] = await detailsFor(['audit:read']);
    const [all] = await detailsFor(['audit:read', 'jobs:read']);

    expect(some).toEqual({ operation: expect.anything(), rate: null });
    expect(all).toMatchObject({ ...some, filter: body });
  });

  it('show no other part of a job either', async () => {
    const details = { last_error: 'a', unique_key: 'b', payload: 'c', job_type: 'mail', status: 'failed' };
    await pool.query('insert into millrace.audit_log (action, details) values ($1, $2)', ['any', details]);

    expect((await detailsFor(['audit:read']))[0]).toEqual({ job_type: 'mail', status: 'failed' });
    expect((await detailsFor(SCOPES))[0]).toEqual(details);
  });

  it('show who made which key', async () => {
    await ask('/admin/api-keys', { method: 'POST', body: { name: 'billing', scopes: ['jobs:read'] } });

    expect((await detailsFor(['audit:read']))[0]).toMatchObject({ name: 'billing', scopes: ['jobs:read'] });
  });
});
