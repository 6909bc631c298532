import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../api/app.ts';
import { jwtAuthentication } from '../../api/auth/jwt.ts';
import { askApp, openApi } from './world.ts';

const { deps } = await openApi();
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

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
  ])('responds to %s (%j) with %i', async (_name, changes, expected) => {
    const app = await open();

    const { status } = await askApp(app, '/admin/jobs', bearer(await token(changes)));

    expect(status).toBe(expected);
  });

  it.each([
    ['is down', undefined],
    ['answers with an error', (_request: unknown, response: ServerResponse) => response.writeHead(500).end()],
    ['does not answer with keys', (_request: unknown, response: ServerResponse) => response.end('<html>')],
  ])('returns 503 while the issuer %s', async (_name, answer) => {
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
