import { expect, it } from 'vitest';
import { checkNamed, unnamedSecrets } from '../../../infra/plan/named-settings.ts';
import echo from '../../functions/deployed-handler.ts';

const entry = (name: string, named: object) => ({
  name,
  file: '/x.ts',
  definition: { ...echo, jobType: name, ...named },
});
const ENTRIES = [
  entry('echo', { settings: { API_URL: 'required', LIMIT: { default: '9' } }, secrets: ['API_TOKEN'] }),
  entry('mail', { settings: { SMTP_FROM: 'required' }, secrets: ['constructor'] }),
];

it('accepts a deployment with all that its handlers name', () => {
  const sources = { settings: { API_URL: 'x', SMTP_FROM: 'y' }, secrets: { API_TOKEN: 'arn', constructor: 'arn' } };

  expect(() => checkNamed(ENTRIES, sources)).not.toThrow();
});

it('names each handler with each setting and secret that the deployment lacks', () => {
  const check = () => checkNamed(ENTRIES, { settings: { API_URL: ' ', API_TOKEN: 'hunter2' }, secrets: {} });

  for (const field of ['echo: settings.API_URL', 'echo: secrets.API_TOKEN', 'mail: settings.SMTP_FROM']) {
    expect(check).toThrow(`${field}: expected `);
  }
  expect(check).toThrow('mail: secrets.constructor: expected its ARN in the setting secrets');
  expect(check).not.toThrow(/LIMIT|hunter2/);
});

it('has a sentence for each secret that no handler names', () => {
  expect(unnamedSecrets(ENTRIES, { API_TOKN: 'arn', API_TOKEN: 'arn', BANK: 'arn' })).toEqual([
    'secrets.API_TOKN has no effect: did you mean API_TOKEN?',
    'secrets.BANK has no effect: no handler names it',
  ]);
});
