import { describe, expect, it } from 'vitest';
import type { Context } from '../../infra/context.ts';
import { readSettings } from '../../infra/settings.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const GOOD: Context = { ...EXISTING, stage: 'prod' };
const { databaseOwnerSecret, ...OWNERLESS } = GOOD;
const IN_A_VPC = { vpcId: 'vpc-1', subnetIds: 'subnet-1,subnet-2', availabilityZones: 'a,b', securityGroupIds: 'sg-1' };

describe('one sentence for', () => {
  it.each<[string, Context, string]>([
    ['a stage in capitals', { ...GOOD, stage: 'Prod' }, 'stage: expected lower-case letters and digits'],
    ['a stage that makes names too long', { ...GOOD, stage: 'abcdefghijklm' }, 'stage: expected lower-case letters'],
    ['no stage', EXISTING, 'stage: expected lower-case letters and digits, a letter first, at most 12, got nothing'],
    ['an unknown name', { ...GOOD, datbase: 'x' }, 'context: expected only what there is (stage, handlers, '],
    [
      'an unknown dispatch mode',
      { ...GOOD, dispatch: 'never' },
      'dispatch: expected one of auto, loop, tick, got "never"',
    ],
    [
      'an unknown architecture',
      { ...GOOD, architecture: 'arm' },
      'architecture: expected one of arm64, x86_64, got "arm"',
    ],
    ['an unknown database', { ...GOOD, database: 'mine' }, 'database: expected one of create, existing, got "mine"'],
    ['an unknown egress', { ...GOOD, egress: 'vpn' }, 'egress: expected one of endpoints, nat, none, got "vpn"'],
    [
      'an unknown way into the API',
      { ...GOOD, api: 'open' },
      'api: expected one of api-key, iam, jwt, off, got "open"',
    ],
    [
      'no secret of the owner',
      OWNERLESS,
      'databaseOwnerSecret: expected the ARN of a secret in Secrets Manager, since database is existing, got nothing',
    ],
    [
      'a secret by its name',
      { ...GOOD, databaseRuntimeSecret: 'runtime' },
      'databaseRuntimeSecret: expected the ARN of a secret',
    ],
    ['iam without scopes', { ...GOOD, api: 'iam' }, 'apiIamScopes: expected JSON such as {"arn:aws:sts::'],
    ['scopes that are no JSON', { ...GOOD, api: 'iam', apiIamScopes: '{' }, 'apiIamScopes: expected JSON such as'],
    [
      'jwt without an issuer',
      { ...GOOD, api: 'jwt' },
      'jwtIssuer: expected the issuer of the tokens, since api is jwt',
    ],
    [
      'a VPC without subnets',
      { ...GOOD, vpcId: 'vpc-1' },
      'subnetIds: expected names with commas between them, since vpcId is given',
    ],
    [
      'a zone too few',
      { ...GOOD, ...IN_A_VPC, availabilityZones: 'a' },
      'availabilityZones: expected one a subnet, 2, got 1',
    ],
    [
      'subnets without a VPC',
      { ...GOOD, subnetIds: 'subnet-1' },
      'vpcId: expected the id of a VPC, since subnetIds is given',
    ],
    [
      'a number that is none',
      { ...GOOD, maxConnections: 'many' },
      'maxConnections: expected a whole number from 1, got "many"',
    ],
    ['alarms that are on by half', { ...GOOD, alarms: 'some' }, 'alarms: expected one of on, off, got "some"'],
    [
      'somebody to tell of no alarms',
      { ...GOOD, alarms: 'off', alarmEmail: 'on.call@example.com' },
      'alarms: expected on, since alarmTopicArn or alarmEmail is given, got "off"',
    ],
    [
      'numbers by something else',
      { ...GOOD, metricsByJobType: 'queue' },
      'metricsByJobType: expected one of on, off, got "queue"',
    ],
    ['settings that are no object', { ...GOOD, settings: '[]' }, 'settings: expected JSON such as'],
    ['a setting that is no text', { ...GOOD, settings: '{"A": 1}' }, 'settings.A: expected text'],
    [
      'a setting of ours',
      { ...GOOD, settings: '{"MILLRACE_STAGE": "x"}' },
      'settings.MILLRACE_STAGE: expected a name of your own',
    ],
  ])('%s', (_case, context, sentence) => {
    expect(() => readSettings(context)).toThrow(sentence);
  });

  it.each<[string, Context, string]>([
    ['no folder', { handlers: '/nowhere' }, 'handlers: there is no folder /nowhere'],
    [
      'keys of an issuer out of reach',
      { ...IN_A_VPC, api: 'jwt', jwtIssuer: 'https://a.b', jwtAudience: 'x', egress: 'endpoints' },
      'egress: expected none, since the API fetches the keys of jwtIssuer, got "endpoints"',
    ],
    [
      'a new database that nothing reaches',
      { database: 'create', egress: 'none' },
      'egress: expected endpoints or nat, since the VPC of a new database has no way of its own, got "none"',
    ],
    ['an egress for nothing', { egress: 'nat', database: 'existing' }, 'egress: expected nothing without a VPC'],
  ])('%s', async (_case, context, sentence) => {
    await expect(synthesise({ ...EXISTING, ...context })).rejects.toThrow(sentence);
  });
});

describe('settings', () => {
  it('are taken from context values', () => {
    const settings = readSettings({
      ...GOOD,
      ...IN_A_VPC,
      drain: 'a, b',
      maxConnections: 200,
      settings: '{"SMTP_FROM": "x"}',
    });

    expect(settings).toMatchObject({
      stage: 'prod',
      dispatch: 'auto',
      architecture: 'arm64',
      drain: ['a', 'b'],
      maxConnections: 200,
      settings: { SMTP_FROM: 'x' },
      network: { inside: { vpcId: 'vpc-1', subnetIds: ['subnet-1', 'subnet-2'] } },
    });
  });

  it('leave alone what CDK itself puts into the context', () => {
    const context = {
      ...GOOD,
      'aws:cdk:enable-path-metadata': true,
      '@aws-cdk/core:x': true,
      'availability-zones:account=1': ['a'],
    };

    expect(() => readSettings(context)).not.toThrow();
  });
});
