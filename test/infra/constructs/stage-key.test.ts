import { App, Stack } from 'aws-cdk-lib';
import { Key } from 'aws-cdk-lib/aws-kms';
import { expect, it } from 'vitest';
import { keyStatements, stageKey } from '../../../infra/constructs/stage-key.ts';
import type { DatabaseChoice } from '../../../infra/settings/place-settings.ts';

const KEY = 'arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef';
const NEW = { kind: 'create' } as const;

function existingIn(region: string): DatabaseChoice {
  const secret = (name: string) => `arn:aws:secretsmanager:${region}:123456789012:secret:${name}-AbCdEf`;
  return { kind: 'existing', ownerSecret: secret('owner'), runtimeSecret: secret('runtime') };
}

function stackIn(region?: string): Stack {
  return new Stack(new App(), 'Shop', region === undefined ? {} : { env: { region, account: '123456789012' } });
}

it.each<[string, string | undefined, DatabaseChoice]>([
  ['a stack without a region', undefined, NEW],
  ['a stack in its region', 'eu-central-1', NEW],
  ['a database in its region', undefined, existingIn('eu-central-1')],
])('accepts a key for %s', (_case, region, database) => {
  expect(stageKey(stackIn(region), { kmsKey: KEY, database })?.keyArn).toBe(KEY);
});

it.each<[string, string | undefined, DatabaseChoice]>([
  ['outside the region of the stack', 'eu-west-1', NEW],
  ['outside the region of the secrets of the database', undefined, existingIn('eu-west-1')],
])('refuses a key %s', (_case, region, database) => {
  expect(() => stageKey(stackIn(region), { kmsKey: KEY, database })).toThrow(
    `kmsKey: expected a key in eu-west-1, the region of the stack, got "${KEY}"`,
  );
});

it('refuses another ARN, such as that of an alias', () => {
  const alias = 'arn:aws:kms:eu-central-1:123456789012:alias/jobs';

  expect(() => stageKey(stackIn(), { kmsKey: alias, database: NEW })).toThrow('kmsKey: expected the ARN of a key');
});

it('accepts a key of the app, whose ARN is not known yet', () => {
  const stack = stackIn();
  const { keyArn } = new Key(stack, 'Jobs');

  const key = stageKey(stack, { kmsKey: keyArn, database: NEW });

  expect(stack.resolve(key?.keyArn)).toEqual({ 'Fn::GetAtt': [expect.stringMatching(/^Jobs/), 'Arn'] });
});

it('has no key, and no statement about one, without the setting', () => {
  const stack = stackIn();

  const key = stageKey(stack, { kmsKey: undefined, database: NEW });

  expect(key).toBeUndefined();
  expect(keyStatements(stack, key, 'send')).toEqual([]);
});
