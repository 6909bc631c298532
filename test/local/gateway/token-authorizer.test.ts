import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { claimsAuthentication } from '../../../api/auth/claims.ts';
import { startGateway } from '../../../local/gateway/gateway.ts';
import { openTokenAuthorizer } from '../../../local/gateway/token-authorizer.ts';
import type { Runner } from '../../../local/lambda/runner.ts';

const pairs = {
  first: await generateKeyPair('RS256'),
  second: await generateKeyPair('RS256'),
  elliptic: await generateKeyPair('ES256'),
};
type Key = keyof typeof pairs;
const ALGORITHMS = { first: 'RS256', second: 'RS256', elliptic: 'ES256' } as const;

async function jwkOf(key: Key): Promise<JWK> {
  return { ...(await exportJWK(pairs[key].publicKey)), kid: key, alg: ALGORITHMS[key], use: 'sig' };
}

/** Starts an issuer that publishes a discovery document and keys, at a path that only the document names. */
async function startIssuer(keys: readonly Key[] = ['first', 'elliptic']) {
  const state = { keys: await Promise.all(keys.map(jwkOf)), isDown: false };
  const server = createServer(({ url }, response) => {
    const documents: Record<string, object> = {
      '/realm/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/certs` },
      '/realm/certs': { keys: state.keys },
    };
    const document = state.isDown ? undefined : documents[url ?? ''];
    response.writeHead(document ? 200 : 503).end(JSON.stringify(document));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realm`;
  return { issuer, state };
}

interface Wanted {
  readonly key?: Key;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly claims?: Record<string, unknown>;
}

function tokenOf(issuer: string, { key = 'first', header, claims }: Wanted = {}): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 300;
  return new SignJWT({ iss: issuer, aud: 'jobs', sub: 'ada', scope: 'jobs:read', exp, ...claims })
    .setProtectedHeader({ alg: ALGORITHMS[key], kid: key, ...header })
    .sign(pairs[key].privateKey);
}

interface Event {
  readonly requestContext: { readonly authorizer?: { readonly jwt: { readonly claims: Record<string, string> } } };
}

/** Starts a gateway that verifies tokens of the issuer, in front of a function that answers 200. */
async function open(issuer: string) {
  const events: Event[] = [];
  const invoke = async (_name: string, event: Event) => {
    events.push(event);
    return { payload: { statusCode: 200, headers: {}, body: '' } };
  };
  const authorize = openTokenAuthorizer({ issuer, audience: 'jobs' });
  const gateway = await startGateway({ port: 0, functionName: 'api', authorize }, { invoke } as unknown as Runner);
  onTestFinished(() => gateway.close());
  const ask = async (authorization?: string, path = '/admin/jobs') => {
    const response = await fetch(gateway.url + path, { headers: { ...(authorization && { authorization }) } });
    return { status: response.status, reason: response.headers.get('www-authenticate'), body: await response.text() };
  };
  return { ask, events };
}

describe('the gateway of one machine, as the JWT authorizer of API Gateway', () => {
  it('passes the claims of a valid token to the function as text', async () => {
    const { issuer } = await startIssuer();
    const { ask, events } = await open(issuer);
    const claims = { aud: ['other', 'jobs'], scope: null, scp: ['jobs:read', 'openid'], exp: 4_102_444_800, nbf: 1 };
    const nested = { admin: true, act: { sub: 'b', ids: [1, null] } };
    const token = await tokenOf(issuer, { claims: { ...claims, ...nested } });

    expect(await ask(`Bearer ${token}`)).toMatchObject({ status: 200 });
    expect(await ask(token)).toMatchObject({ status: 200 });

    const { jwt } = events[0]?.requestContext.authorizer ?? {};
    expect(jwt).toEqual({
      claims: {
        ...{ iss: issuer, aud: '[other jobs]', sub: 'ada', scp: '[jobs:read openid]', exp: '4102444800', nbf: '1' },
        ...{ admin: 'true', act: 'map[ids:[1 <nil>] sub:b]' },
      },
      scopes: null,
    });
    const identify = claimsAuthentication({ issuer, audience: 'jobs' });
    const caller = await identify(new Request('https://api.example'), { claims: jwt?.claims });
    expect(caller).toMatchObject({ name: 'jwt:ada', scopes: new Set(['jobs:read']) });
  });

  const now = Math.floor(Date.now() / 1000);
  const refusals: readonly [string, Wanted, string][] = [
    ['for another audience', { claims: { aud: 'else', client_id: 'jobs' } }, 'does not have a valid audience'],
    ['of another issuer', { claims: { iss: 'https://else.example' } }, 'issuer does not match'],
    ['that expired a second ago', { claims: { exp: now - 1 } }, 'the token has expired'],
    ['without an expiry', { claims: { exp: undefined } }, 'missing required  exp  claim'],
    ['that is valid later', { claims: { nbf: now + 60 } }, 'nbf'],
    ['from the future', { claims: { iat: now + 60 } }, 'was issued in the future'],
    ['with ES256', { key: 'elliptic' }, 'signing method ES256 is invalid'],
    ['with an unknown key', { key: 'second' }, 'no applicable key'],
    ['with the kid of another key', { key: 'second', header: { kid: 'first' } }, 'signature verification failed'],
    ['without a kid', { header: { kid: undefined } as never }, 'has no kid'],
  ];

  it.each(refusals)('refuses a token %s', async (_name, wanted, reason) => {
    const { issuer } = await startIssuer();
    const { ask, events } = await open(issuer);

    const answer = await ask(`Bearer ${await tokenOf(issuer, wanted)}`);

    expect(answer).toEqual({
      status: 401,
      reason: expect.stringMatching(/^Bearer scope="" error="invalid_token" error_description="[^"]*"$/),
      body: '{"message":"Unauthorized"}',
    });
    expect(answer.reason).toContain(reason);
    expect(events).toEqual([]);
  });

  it.each([
    ['no token', undefined, 'Bearer'],
    ['an API key', 'Bearer millrace_1_secret', expect.stringContaining('error="invalid_token"')],
  ])('refuses %s', async (_name, authorization, reason) => {
    const { issuer } = await startIssuer();
    const { ask } = await open(issuer);

    expect(await ask(authorization)).toEqual({ status: 401, reason, body: '{"message":"Unauthorized"}' });
  });

  it('accepts client_id in place of aud, as Cognito writes it', async () => {
    const { issuer } = await startIssuer();
    const { ask } = await open(issuer);
    const token = await tokenOf(issuer, { claims: { aud: undefined, client_id: 'jobs' } });

    expect(await ask(`Bearer ${token}`)).toMatchObject({ status: 200 });
  });

  it('passes requests for health and documentation without a token, and without claims', async () => {
    const { issuer } = await startIssuer();
    const { ask, events } = await open(issuer);

    const asked = await Promise.all(
      ['/healthz', '/readyz?verbose', '/docs', '/openapi.json'].map((path) => ask(undefined, path)),
    );

    expect(asked.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(events.filter(({ requestContext }) => requestContext.authorizer)).toEqual([]);
    expect(await ask(undefined, '/healthz/')).toMatchObject({ status: 401 });
  });

  it('accepts a new key of the issuer at once', async () => {
    const { issuer, state } = await startIssuer();
    const { ask } = await open(issuer);
    expect(await ask(await tokenOf(issuer))).toMatchObject({ status: 200 });

    state.keys = [await jwkOf('second')];

    expect(await ask(await tokenOf(issuer, { key: 'second' }))).toMatchObject({ status: 200 });
    expect(await ask(await tokenOf(issuer))).toMatchObject({ status: 401 });
  });

  it('names the document that an issuer does not answer, and asks again with the next request', async () => {
    const { issuer, state } = await startIssuer();
    const { ask } = await open(issuer);
    const token = await tokenOf(issuer);
    state.isDown = true;

    const { status, reason } = await ask(token);

    expect(status).toBe(401);
    expect(reason).toContain(`${issuer}/.well-known/openid-configuration answered 503`);
    state.isDown = false;
    expect(await ask(token)).toMatchObject({ status: 200 });
  });
});
