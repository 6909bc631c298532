import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../api/app.ts';
import { apiKeyAuthentication } from '../../api/auth/api-key.ts';
import { iamAuthentication } from '../../api/auth/iam.ts';
import { jwtAuthentication } from '../../api/auth/jwt.ts';
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

describe('JWT authentication', async () => {
  const good = await generateKeyPair('ES256');
  const other = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(good.publicKey)), kid: 'k1', alg: 'ES256' };
  const issuer = 'https://issuer.example';

  async function open(answer: RequestListener = (_request, response) => response.end(JSON.stringify({ keys: [jwk] }))) {
    const server = createServer(answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const jwks = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const settings = { issuer, audience: 'millrace', jwks, algorithms: ['ES256'] };
    return createApp({ ...deps, authentication: [jwtAuthentication(settings)] });
  }

  const token = (
    changes: {
      iss?: string;
      aud?: string;
      exp?: string;
      scope?: string;
      sub?: unknown;
      key?: typeof good.privateKey;
    } = {},
  ) =>
    new SignJWT({ scope: changes.scope ?? 'jobs:read openid', sub: 'sub' in changes ? (changes.sub as string) : 'ada' })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .setIssuer(changes.iss ?? issuer)
      .setAudience(changes.aud ?? 'millrace')
      .setExpirationTime(changes.exp ?? '5m')
      .sign(changes.key ?? good.privateKey);

  it.each([
    ['a valid token', {}, 200],
    ['a token without scopes of the API', { scope: 'openid' }, 403],
    ['a token from another issuer', { iss: 'https://else.example' }, 401],
    ['a token for another audience', { aud: 'else' }, 401],
    ['an expired token', { exp: '-5m' }, 401],
    ['a token with a wrong signature', { key: other.privateKey }, 401],
  ])('answers %s (%j) with %i', async (_name, changes, expected) => {
    const app = await open();

    const { status } = await askApp(app, '/admin/jobs', bearer(await token(changes)));

    expect(status).toBe(expected);
  });

  it.each([
    ['is down', undefined],
    ['answers with an error', (_request: unknown, response: ServerResponse) => response.writeHead(500).end()],
    ['does not answer with keys', (_request: unknown, response: ServerResponse) => response.end('<html>')],
  ])('answers 503 while the issuer %s', async (_name, answer) => {
    const app = await open(answer ?? ((request) => request.socket.destroy()));

    const { status, headers, body } = await askApp(app, '/admin/jobs', bearer(await token()));

    expect({ status, type: body.type }).toEqual({ status: 503, type: '/problems/issuer-unavailable' });
    expect(headers.get('retry-after')).toBe('5');
  });

  it.each([
    ['an object', { name: 'ada' }],
    ['empty', ''],
    ['a number', 1],
    ['a list', ['ada']],
    ['null', null],
    ['longer than 255 characters', 'a'.repeat(256)],
    ['text with a control character', 'ada\u001b[2J'],
    ['text with NUL, which Postgres cannot store', 'ada\0'],
    ['text with half a surrogate pair', 'ada\ud800'],
  ])('rejects a token whose subject is %s', async (_name, sub) => {
    const app = await open();

    const { status, body } = await askApp(app, '/admin/jobs', bearer(await token({ sub })));

    expect({ status, detail: body.detail }).toEqual({
      status: 401,
      detail: expect.stringContaining('the token is invalid'),
    });
  });

  it.each(['a', 'auth0|5f7c', 'Ada Lovelace ü', 'a'.repeat(255)])('accepts the subject %s', async (sub) => {
    const app = await open();

    const { status } = await askApp(app, '/admin/jobs', bearer(await token({ sub })));

    expect(status).toBe(200);
  });

  it('rejects an unsigned token and a token signed with the public key as a secret', async () => {
    const app = await open();
    const [, payload] = (await token()).split('.');
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    const shared = await new SignJWT({ scope: 'jobs:read' })
      .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
      .setSubject('ada')
      .setIssuer(issuer)
      .setAudience('millrace')
      .setExpirationTime('5m')
      .sign(Buffer.from(JSON.stringify(jwk)));

    const replies = await Promise.all([none, shared].map((text) => askApp(app, '/admin/jobs', bearer(text))));

    expect(replies.map(({ status }) => status)).toEqual([401, 401]);
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
