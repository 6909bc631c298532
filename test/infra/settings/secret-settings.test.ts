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
])('refuses the setting %s=%s, which looks like a secret, without repeating its value', (name, value) => {
  const read = () => readSettings({ ...EXISTING, stage: 'prod', settings: { [name]: value } });

  expect(read).toThrow(`settings.${name}: expected no secret`);
  expect(read).not.toThrow(/hunter2/);
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
