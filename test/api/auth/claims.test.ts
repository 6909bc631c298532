import { expect, it } from 'vitest';
import { claimsAuthentication } from '../../../api/auth/claims.ts';

const identify = claimsAuthentication({ issuer: 'https://login.example.com/', audience: 'jobs' });
const GOOD = { iss: 'https://login.example.com/', aud: 'jobs', sub: 'ada', scope: 'jobs:read openid' };
const request = new Request('https://api.example/jobs', { headers: { authorization: 'Bearer a.b.c' } });
const callerOf = (claims: Record<string, unknown> | undefined) => identify(request, { claims });

it.each<[string, Record<string, unknown>, string[]]>([
  ['words in scope', {}, ['jobs:read']],
  [
    'a list, as API Gateway writes it',
    { scope: undefined, scp: '[jobs:read jobs:operate]' },
    ['jobs:read', 'jobs:operate'],
  ],
  ['one of several audiences', { aud: '[other jobs]' }, ['jobs:read']],
  ['client_id, if aud is missing', { aud: undefined, client_id: 'jobs' }, ['jobs:read']],
  ['no scope of Millrace', { scope: 'openid [jobs:read]' }, []],
  ['a scope that is an object', { scope: { 'jobs:read': true } }, []],
])('gives the bearer of a verified token the scopes in its claims: %s', async (_name, changes, scopes) => {
  expect(await callerOf({ ...GOOD, ...changes })).toEqual({
    ...{ name: 'jwt:ada', id: 'jwt:ada' },
    scopes: new Set(scopes),
  });
});

it('does not authenticate a request without verified claims, even if it has a token', async () => {
  expect(await callerOf(undefined)).toBeUndefined();
});

it.each([
  ['another issuer', { iss: 'https://login.example.com' }, 'the token is invalid: unexpected "iss" claim value'],
  ['no issuer', { iss: undefined }, 'the token is invalid: unexpected "iss" claim value'],
  ['another audience', { aud: 'other', client_id: 'jobs' }, 'the token is invalid: unexpected "aud" claim value'],
  ['no audience', { aud: undefined }, 'the token is invalid: unexpected "aud" claim value'],
  ['an empty subject', { sub: '' }, expect.stringContaining('its claim sub must be')],
  ['no subject', { sub: undefined }, expect.stringContaining('its claim sub must be')],
])('refuses the claims of another gateway: %s', async (_name, changes, refused) => {
  expect(await callerOf({ ...GOOD, ...changes })).toEqual({ refused });
});
