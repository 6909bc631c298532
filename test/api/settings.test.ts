import { describe, expect, it, vi } from 'vitest';
import { keyRefusal, readAuthentication } from '../../api/auth/settings.ts';

const db = { query: () => Promise.reject(new Error('reading the settings sends no query')) };

function read(environment: Record<string, string>) {
  return readWith(environment, () => readAuthentication(db));
}

function readWith<T>(environment: Record<string, string>, work: () => T): T {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    return work();
  } finally {
    vi.unstubAllEnvs();
  }
}

const IAM = { MILLRACE_API_IAM_SCOPES: '{"arn:aws:sts::1:assumed-role/OnCall/*": ["operator"]}' };
const JWT = { MILLRACE_API_JWT_ISSUER: 'https://issuer.example', MILLRACE_API_JWT_AUDIENCE: 'millrace' };

describe('WEB-03: the start of the API', () => {
  it.each([
    [
      'without a mode',
      {},
      /^MILLRACE_API_AUTH: expected a comma-separated list of api-key, iam, jwt, gateway-jwt, none/,
    ],
    ['with an unknown mode', { MILLRACE_API_AUTH: 'basic' }, /^MILLRACE_API_AUTH: .* got "basic"/],
    ['with none beside another', { MILLRACE_API_AUTH: 'none,api-key' }, /^MILLRACE_API_AUTH/],
    ['with none and no address', { MILLRACE_API_AUTH: 'none' }, /^MILLRACE_API_URL/],
    [
      'with none and a public address',
      { MILLRACE_API_AUTH: 'none', MILLRACE_API_URL: 'https://api.example' },
      /^MILLRACE_API_URL: .*loopback/,
    ],
    ['with none and all addresses', { MILLRACE_API_AUTH: 'none', MILLRACE_API_URL: 'http://0.0.0.0:1' }, /loopback/],
    ['with iam and no rules', { MILLRACE_API_AUTH: 'iam' }, /^MILLRACE_API_IAM_SCOPES/],
    ['with rules that are not JSON', { MILLRACE_API_AUTH: 'iam', MILLRACE_API_IAM_SCOPES: 'all' }, /got "all"/],
    [
      'with an unknown scope',
      { MILLRACE_API_AUTH: 'iam', MILLRACE_API_IAM_SCOPES: '{"*": ["root"]}' },
      /scopes or roles/,
    ],
    ['with jwt and no issuer', { MILLRACE_API_AUTH: 'jwt' }, /^MILLRACE_API_JWT_ISSUER/],
    [
      'with an issuer over http',
      { MILLRACE_API_AUTH: 'jwt', ...JWT, MILLRACE_API_JWT_ISSUER: 'http://issuer.example' },
      /^MILLRACE_API_JWT_ISSUER: expected an https:/,
    ],
    [
      'with an issuer over http, and keys over https',
      {
        ...{ MILLRACE_API_AUTH: 'jwt', ...JWT, MILLRACE_API_JWT_ISSUER: 'http://localhost.issuer.example' },
        MILLRACE_API_JWT_JWKS: 'https://issuer.example/keys',
      },
      /^MILLRACE_API_JWT_ISSUER/,
    ],
    [
      'with keys over http',
      { MILLRACE_API_AUTH: 'jwt', ...JWT, MILLRACE_API_JWT_JWKS: 'http://10.0.0.1/keys' },
      /^MILLRACE_API_JWT_JWKS: expected an https:/,
    ],
    [
      'with keys over another protocol',
      { MILLRACE_API_AUTH: 'jwt', ...JWT, MILLRACE_API_JWT_JWKS: 'ftp://127.0.0.1/keys' },
      /^MILLRACE_API_JWT_JWKS/,
    ],
    [
      'with a symmetric signature',
      { MILLRACE_API_AUTH: 'jwt', ...JWT, MILLRACE_API_JWT_ALGORITHMS: 'HS256' },
      /^MILLRACE_API_JWT_ALGORITHMS/,
    ],
  ])('fails %s', (_name, environment, message) => {
    expect(() => read(environment)).toThrow(message);
  });

  it.each([
    [{ MILLRACE_API_AUTH: 'api-key' }, 1],
    [{ MILLRACE_API_AUTH: 'api-key, iam,jwt,gateway-jwt', ...IAM, ...JWT }, 4],
    [{ MILLRACE_API_AUTH: 'jwt', ...JWT, MILLRACE_API_JWT_ISSUER: 'http://localhost:9000/realms/a' }, 1],
    [{ MILLRACE_API_AUTH: 'jwt', ...JWT, MILLRACE_API_JWT_JWKS: 'http://[::1]:9000/keys' }, 1],
    [
      {
        ...{ MILLRACE_API_AUTH: 'jwt', ...JWT, MILLRACE_API_JWT_ISSUER: 'issuer.example' },
        MILLRACE_API_JWT_JWKS: 'https://issuer.example/keys',
      },
      1,
    ],
    [{ MILLRACE_API_AUTH: 'none', MILLRACE_API_URL: 'http://127.0.0.1:8377' }, 1],
    [{ MILLRACE_API_AUTH: 'none', MILLRACE_API_URL: 'http://[::1]:8377' }, 1],
  ])('accepts %j', (environment, ways) => {
    expect(read(environment)).toHaveLength(ways);
  });
});

it.each([
  ['iam', 'MILLRACE_API_AUTH is iam: name the caller in apiIamScopes, or deploy with api=api-key'],
  ['jwt', 'MILLRACE_API_AUTH is jwt: get a token from the issuer, or deploy with api=api-key'],
  ['gateway-jwt', 'MILLRACE_API_AUTH is gateway-jwt: get a token from the issuer, or deploy with api=api-key'],
])('no key is created if nothing reads it: %s', (MILLRACE_API_AUTH, why) => {
  expect(readWith({ MILLRACE_API_AUTH }, keyRefusal)).toBe(`this API reads no API keys, since ${why}`);
});

it.each(['api-key', 'iam,api-key', 'none'])('keys are created with %s', (MILLRACE_API_AUTH) => {
  expect(readWith({ MILLRACE_API_AUTH }, keyRefusal)).toBeUndefined();
});
