import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import type { Scope } from '../../core/access/scopes.ts';
import { openApi } from './world.ts';

const { ask, pool } = await openApi();
/** The key of a payload that can be guessed: there are ten thousand of them. */
const key = `payload ${createHash('sha256').update('{"pin": "4711"}').digest('hex')}`;
let id: string;

beforeAll(async () => {
  const body = { job_type: 'any', payload: { pin: '4711' }, unique_by: 'payload' };
  id = (await ask('/jobs', { method: 'POST', body })).body.id;
});

it.each<[string, (document: never) => string]>([
  ['/admin/jobs', ({ items: [job] }: { items: { unique_key: string }[] }) => job?.unique_key ?? ''],
  ['/admin/jobs/:id', (job: { unique_key: string }) => job.unique_key],
  ['/jobs/:id', (job: { unique_key: string }) => job.unique_key],
])('%s shows a key made of a payload to callers with payload:read only', async (path, keyIn) => {
  const seenBy = async (scopes: readonly Scope[]) =>
    keyIn((await ask(path.replace(':id', id), { scopes })).body as never);

  expect(await seenBy(['jobs:read'])).toBe('payload');
  expect(await seenBy(['jobs:read', 'payload:read'])).toBe(key);
});

it.each<[string, object | undefined, Scope]>([
  [`/admin/jobs?unique_key=${encodeURIComponent(key)}`, undefined, 'jobs:read'],
  ['/admin/jobs/actions', { action: 'cancel', unique_key: key }, 'jobs:operate'],
])(
  'a filter by such a key requires payload:read, because it tells whether a guess is right: %s',
  async (path, body, scope) => {
    const method = body === undefined ? 'GET' : 'POST';
    const scopes: Scope[] = ['jobs:read', scope];

    const refused = await ask(path, { method, body, scopes });
    const allowed = await ask(path, { method, body, scopes: [...scopes, 'payload:read'] });

    expect([refused.status, refused.body.required_scope]).toEqual([403, 'payload:read']);
    expect([allowed.status, allowed.body.items.length]).toEqual([200, 1]);
  },
);

it('an audit event of such a key shows it to callers with payload:read only', async () => {
  const { routing_key: routingKey, job_type: type } = (await ask(`/jobs/${id}`)).body;
  const old = `insert into millrace.unique_keys values ($1, $2, $3, 0, 'period', now() + interval '1 day')`;
  await pool.query('update millrace.jobs_live set unique_key = null where id = $1', [id]);
  await pool.query(old, [type, routingKey, key]);
  await pool.query('select millrace.free_key($1, $2, $3)', [type, key, routingKey]);

  const seenBy = async (scopes: readonly Scope[]) =>
    (await ask('/admin/audit?action=free_key', { scopes })).body.items[0].details;

  expect(await seenBy(['audit:read'])).toEqual({ job_type: type, routing_key: routingKey });
  expect(await seenBy(['audit:read', 'jobs:read'])).toMatchObject({ unique_key: 'payload' });
  expect(await seenBy(['audit:read', 'jobs:read', 'payload:read'])).toMatchObject({ unique_key: key });
});
