import { expect, it } from 'vitest';
import type { Context } from '../../../infra/settings/context.ts';
import { readSettings } from '../../../infra/settings/settings.ts';
import { EXISTING } from '../synthesise.ts';

const GOOD: Context = { ...EXISTING, stage: 'prod' };
const JWT = { api: 'jwt', jwtAudience: 'x' };

it.each<[string, Context, string]>([
  ['a rate limit of none', { ...GOOD, apiRateLimit: 0 }, 'apiRateLimit: expected a whole number above 0'],
  [
    'a domain without a certificate',
    { ...GOOD, apiDomain: 'jobs.example.com' },
    'apiCertificate: expected the ARN of a certificate of ACM in the region of the stack, since apiDomain is set',
  ],
  [
    'a certificate alone',
    { ...GOOD, apiCertificate: 'arn:' },
    'apiCertificate: expected no value, since apiDomain is not',
  ],
  ['a domain with a path', { ...GOOD, apiDomain: 'example.com/jobs' }, 'apiDomain: expected a host name'],
  [
    'a domain without an API',
    { ...GOOD, api: 'off', apiDomain: 'a.example' },
    'apiDomain: expected no value, since api is off',
  ],
  [
    'a symmetric algorithm',
    { ...GOOD, ...JWT, jwtIssuer: 'https://a.example', jwtAlgorithms: 'RS256,HS256' },
    'jwtAlgorithms: expected a comma-separated list of RS256, RS384, ',
  ],
  [
    'keys over http',
    { ...GOOD, ...JWT, jwtIssuer: 'https://a.example', jwtJwks: 'http://a.example/keys' },
    'jwtJwks: expected a URL that begins with https://',
  ],
  [
    'keys without tokens',
    { ...GOOD, jwtJwks: 'https://a.example/keys' },
    'jwtJwks: expected no value, since api is api-key',
  ],
])('readSettings names the setting for %s', (_case, context, sentence) => {
  expect(() => readSettings(context)).toThrow(sentence);
});

it('reads what API Gateway does', () => {
  const certificate = 'arn:aws:acm:eu-central-1:123456789012:certificate/0123-4567';
  const front = { apiRateLimit: 7, apiBurstLimit: '9', apiAccessLog: 'off', apiDomain: 'jobs.example.com' };

  expect(readSettings({ ...GOOD, ...front, apiCertificate: certificate }).api).toEqual({
    ...{ mode: 'api-key', rateLimit: 7, burstLimit: 9, accessLog: false },
    domain: { name: 'jobs.example.com', certificate },
  });
});

it('reads the keys and the algorithms of tokens', () => {
  const tokens = { jwtIssuer: 'https://a.example', jwtJwks: 'https://a.example/keys', jwtAlgorithms: 'ES256, RS256' };

  expect(readSettings({ ...GOOD, ...JWT, ...tokens }).api).toEqual({
    ...{ mode: 'jwt', issuer: 'https://a.example', audience: 'x' },
    ...{ jwks: 'https://a.example/keys', algorithms: 'ES256,RS256' },
  });
});
