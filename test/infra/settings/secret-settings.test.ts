import { expect, it } from 'vitest';
import { readSettings } from '../../../infra/settings/settings.ts';
import { EXISTING } from '../synthesise.ts';

const ELSEWHERE = 'arn:aws:secretsmanager:us-east-1:123456789012:secret:app-AbCdEf';

it.each<[string, string]>([
  ['SMTP_PASSWORD', 'hunter2'],
  ['STRIPE_API_KEY', 'x'],
  ['SMTP_URL', 'smtps://user:hunter2@mail.example.com'],
  ['STRIPE', 'sk_live_hunter2'],
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
