import { describe, expect, it } from 'vitest';
import { createApp } from '../../api/app.ts';
import { apiKeyAuthentication } from '../../api/auth/api-key.ts';
import { iamAuthentication } from '../../api/auth/iam.ts';
import { loopbackAuthentication } from '../../api/auth/loopback.ts';
import { createApiKey } from '../../core/access/api-keys.ts';
import { askApp, openApi } from './world.ts';

const { db, deps, pool, log } = await openApi();
const keyApp = createApp({ ...deps, authentication: [apiKeyAuthentication(db)] });
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe('an API key', () => {
  const asAdmin = async () =>
    bearer((await createApiKey(db, { name: 'root', scopes: ['keys:admin', 'jobs:read'] })).secret);

  it('has a secret that is shown once and never stored', async () => {
    const admin = await asAdmin();
    const body = { name: 'billing', scopes: ['jobs:read'], expires_in: '90d' };

    const made = await askApp(keyApp, '/admin/api-keys', { method: 'POST', body, ...admin });
    const listed = await askApp(keyApp, '/admin/api-keys', admin);
    const used = await askApp(keyApp, '/admin/jobs', bearer(made.body.secret));

    expect(made.status).toBe(201);
    expect(made.body.secret).toMatch(/^millrace_\d+_[\w-]{43}$/);
    expect(listed.body.items[0]).toMatchObject({ name: 'billing', scopes: ['jobs:read'], last_used_at: null });
    expect(listed.text).not.toContain(made.body.secret.slice(-43));
    expect(used.status).toBe(200);
    const { rows } = await pool.query('select * from millrace.api_keys');
    expect(JSON.stringify(rows)).not.toContain(made.body.secret.slice(-43));
    expect(rows.find(({ name }) => name === 'billing').last_used_at).not.toBeNull();
    expect(JSON.stringify(log.lines)).not.toContain(made.body.secret.slice(-43));
  });

  it('is refused when it is revoked, expired or has a wrong secret', async () => {
    const admin = await asAdmin();
    const one = await createApiKey(db, { name: 'a', scopes: ['jobs:read'] });
    const old = await createApiKey(db, { name: 'b', scopes: ['jobs:read'], expiresInSeconds: 3600 });
    await pool.query("update millrace.api_keys set expires_at = now() - interval '1 second' where id = $1", [
      old.key.id,
    ]);
    const before = await askApp(keyApp, '/admin/jobs', bearer(one.secret));

    const revoked = await askApp(keyApp, `/admin/api-keys/${one.key.id}`, { method: 'DELETE', ...admin });

    const secrets = [one.secret, old.secret, `${one.secret.slice(0, -1)}_`, `millrace_0_${'a'.repeat(43)}`];
    const after = await Promise.all(secrets.map((secret) => askApp(keyApp, '/admin/jobs', bearer(secret))));
    expect([before.status, revoked.status]).toEqual([200, 204]);
    expect(after.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  });

  it('can share its name with a second key, so that keys can be rotated', async () => {
    const keys = [await createApiKey(db, { name: 'same', scopes: ['jobs:read'] })];
    keys.push(await createApiKey(db, { name: 'same', scopes: ['jobs:read'] }));

    const replies = await Promise.all(keys.map(({ secret }) => askApp(keyApp, '/admin/jobs', bearer(secret))));

    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('grants only scopes of its creator, and revoking an unknown key answers 404', async () => {
    const admin = await asAdmin();

    const made = await askApp(keyApp, '/admin/api-keys', {
      method: 'POST',
      body: { name: 'x', scopes: ['admin'] },
      ...admin,
    });
    const revoked = await askApp(keyApp, '/admin/api-keys/4711', { method: 'DELETE', ...admin });

    expect(made).toMatchObject({ status: 422, body: { errors: [{ pointer: '/scopes' }] } });
    expect(revoked.status).toBe(404);
  });
});

describe('IAM authentication', () => {
  const rules = [{ pattern: 'arn:aws:sts::1:assumed-role/OnCall.*/*', scopes: ['jobs:read'] as const }];
  const app = createApp({
    ...deps,
    authentication: [iamAuthentication(rules)],
    gatewayFacts: () => ({ callerArn }),
  });
  let callerArn: string | undefined;

  it.each([
    ['arn:aws:sts::1:assumed-role/OnCall.eu/ada', 200],
    ['arn:aws:sts::1:assumed-role/OnCallXeu/ada', 403],
    ['arn:aws:sts::2:assumed-role/OnCall.eu/ada', 403],
    [undefined, 401],
  ])('answers the principal %s with %i', async (arn, expected) => {
    callerArn = arn;

    const { status } = await askApp(app, '/admin/jobs', { headers: { authorization: '' } });

    expect(status).toBe(expected);
  });
});

describe('the API without authentication', () => {
  const app = createApp({ ...deps, authentication: [loopbackAuthentication()] });

  it.each([
    ['127.0.0.1:8377', {}, 200],
    ['localhost:8377', {}, 200],
    ['[::1]:8377', {}, 200],
    ['evil.example', {}, 401],
    ['127.0.0.1.evil.example', {}, 401],
    ['localhost', { 'sec-fetch-site': 'cross-site' }, 401],
    ['localhost', { 'sec-fetch-site': 'same-origin' }, 200],
    ['localhost:1', { origin: 'http://localhost:1' }, 200],
    ['localhost:1', { origin: 'http://localhost:2' }, 401],
    ['localhost', { origin: 'null' }, 401],
  ])('answers a request to %s with the headers %j: %i', async (host, headers, expected) => {
    const { status } = await askApp(app, '/admin/jobs', { headers: { host, ...headers } });

    expect(status).toBe(expected);
  });
});
