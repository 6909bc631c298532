import { expect, it } from 'vitest';
import { readSettings } from '../../../infra/settings/settings.ts';
import { EXISTING } from '../synthesise.ts';

const ELSEWHERE = 'arn:aws:secretsmanager:us-east-1:123456789012:secret:app-AbCdEf';

it.each<[string, string]>([
  ['SMTP_PASSWORD', 'hunter2'],
  ['STRIPE_API_KEY', 'x'],
  ['SMTP_URL', 'smtps://user:hunter2@mail.example.com'],
  ['STRIPE', 'sk_live_hunter2'],
  ['RATES_URL', 'https://api.example.com/rates?base=EUR&api_key=hunter2'],
  ['BLOBS', 'https://a.blob.core.windows.net/c?sv=2024&sig=hunter2'],
  ['SMTP_PASS', 'hunter2'],
  ['smtpPassword', 'hunter2'],
  ['STRIPE_KEY', 'hunter2'],
  ['SESSION_SALT', 'hunter2'],
  ['RATES_TOKEN', 'arn:hunter2'],
  ['STRIPE', 'sk_test_hunter2'],
  ['GITHUB', 'github_pat_hunter2'],
  ['LOGIN', 'eyJhbGciOiJIUzI1NiJ9.hunter2.x'],
  ['RATES', 'https://rates.example.com?key=hunter2'],
  ['UPLOAD', 'kX9vT2mQ8rW4hunter2bZ7nL3pY6sD1w/G5='],
  ['CERTIFICATE', '-----BEGIN EC PRIVATE KEY-----hunter2'],
])('refuses the setting %s=%s, which looks like a secret, without repeating its value', (name, value) => {
  const read = () => readSettings({ ...EXISTING, stage: 'prod', settings: { [name]: value } });

  expect(read).toThrow(`settings.${name}: expected no secret`);
  expect(read).not.toThrow(/hunter2/);
});

it.each<[string, string]>([
  ['MAX_TOKENS', '4096'],
  ['TOKENS_PER_MINUTE', '60'],
  ['SECRETARY_EMAIL', 'ada@example.com'],
  ['DB_PASSWORD_POLICY', 'strict'],
  ['PARTITION_KEY', 'customer'],
  ['CACHE_AUTH', 'off'],
  ['TOKEN_URL', 'https://login.example.com/oauth/token'],
  ['BUCKET', 'MyCompany-Production-Invoices-Archive-2026'],
  ['RELEASE', '5f2b1c0d9e8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c'],
  ['TABLE_ARN', 'arn:aws:dynamodb:eu-central-1:123456789012:table/Invoices'],
  ['DB_PASSWORD', 'arn:aws:ssm:eu-central-1:123456789012:parameter/db/password'],
  ['CERTIFICATE', '-----BEGIN CERTIFICATE-----MIIB'],
])('accepts the setting %s=%s', (name, value) => {
  expect(readSettings({ ...EXISTING, stage: 'prod', settings: { [name]: value } }).settings).toEqual({ [name]: value });
});

it('accepts a setting that notSecret lists, and no other', () => {
  const settings = { SENTRY_DSN: 'https://key@sentry.example.com/1', STRIPE_KEY: 'pk_live_published' };
  const read = (notSecret: string) => readSettings({ ...EXISTING, stage: 'prod', settings, notSecret });

  expect(read('STRIPE_KEY, SENTRY_DSN').settings).toEqual(settings);
  expect(() => read('SENTRY_DSN')).toThrow(
    /settings\.STRIPE_KEY: .* if it only looks like one, list STRIPE_KEY in notSecret/,
  );
});

it('accepts the ARN of a secret', () => {
  const named = { SMTP_PASSWORD_SECRET: ELSEWHERE, SMTP_URL: 'smtps://mail.example.com:465' };

  const { settings } = readSettings({ ...EXISTING, stage: 'prod', settings: named });

  expect(settings).toEqual(named);
});

it.each<[string, unknown, string]>([
  ['a list', '[]', 'secrets: expected JSON such as {"API_TOKEN": "arn:…"}'],
  ['a value', { API_TOKEN: 'hunter2' }, 'secrets.API_TOKEN: expected the full ARN of a secret in Secrets Manager'],
  [
    'an ARN without its end',
    { API_TOKEN: ELSEWHERE.replace('-AbCdEf', '') },
    'secrets.API_TOKEN: expected the full ARN',
  ],
  ['a reserved name', { AWS_TOKEN: ELSEWHERE }, 'secrets.AWS_TOKEN: expected a name that neither Lambda nor Millrace'],
])('refuses %s in place of the secrets of handlers, without repeating it', (_what, secrets, sentence) => {
  const read = () => readSettings({ ...EXISTING, stage: 'prod', secrets });

  expect(read).toThrow(sentence);
  expect(read).not.toThrow(/hunter2/);
});

it('accepts the ARNs of secrets of handlers as an object or as JSON', () => {
  const secrets = { API_TOKEN: ELSEWHERE };

  expect(readSettings({ ...EXISTING, stage: 'prod', secrets }).secrets).toEqual(secrets);
  expect(readSettings({ ...EXISTING, stage: 'prod', secrets: JSON.stringify(secrets) }).secrets).toEqual(secrets);
});
