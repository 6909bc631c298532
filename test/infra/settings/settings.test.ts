import { describe, expect, it } from 'vitest';
import type { Context } from '../../../infra/settings/context.ts';
import { readSettings } from '../../../infra/settings/settings.ts';
import { EXISTING, synthesise } from '../synthesise.ts';

const GOOD: Context = { ...EXISTING, stage: 'prod' };
const { databaseOwnerSecret, ...OWNERLESS } = GOOD;
const NEW: Context = { database: 'create', databaseOwnerSecret: '', databaseRuntimeSecret: '' };
const IN_A_VPC = {
  ...{ vpcId: 'vpc-0123abcd', subnetIds: 'subnet-0123abcd,subnet-4567abcd', availabilityZones: 'a,b' },
  securityGroupIds: 'sg-0123abcd',
};

const ELSEWHERE = 'arn:aws:secretsmanager:us-east-1:123456789012:secret:app-AbCdEf';
const JWT = { api: 'jwt', jwtAudience: 'x' };
const iam = (scopes: object): Context => ({ api: 'iam', apiIamScopes: scopes });

describe('readSettings names the setting for', () => {
  it.each<[string, Context, string]>([
    ['a stage in capitals', { ...GOOD, stage: 'Prod' }, 'stage: expected at most 12 lower-case letters'],
    ['a stage of 13 letters', { ...GOOD, stage: 'abcdefghijklm' }, 'stage: expected at most 12 lower-case letters'],
    ['no stage', EXISTING, 'stage: expected at most 12 lower-case letters and digits, a letter first, got nothing'],
    ['an unknown name', { ...GOOD, datbase: 'x' }, 'context: expected one of stage, handlers, '],
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
      'an unknown authentication mode of the API',
      { ...GOOD, api: 'open' },
      'api: expected one of api-key, iam, jwt, off, got "open"',
    ],
    [
      'a missing secret of the owner',
      OWNERLESS,
      'databaseOwnerSecret: expected the full ARN of a secret in Secrets Manager, with the six characters at its end',
    ],
    [
      'a secret by name',
      { ...GOOD, databaseRuntimeSecret: 'runtime' },
      'databaseRuntimeSecret: expected the full ARN of a secret',
    ],
    ['iam without scopes', { ...GOOD, api: 'iam' }, 'apiIamScopes: expected JSON such as {"arn:aws:sts::'],
    ['scopes that are not JSON', { ...GOOD, api: 'iam', apiIamScopes: '{' }, 'apiIamScopes: expected JSON such as'],
    [
      'jwt without an issuer',
      { ...GOOD, api: 'jwt' },
      'jwtIssuer: expected the issuer of the tokens, since api is jwt',
    ],
    [
      'a VPC without subnets',
      { ...GOOD, vpcId: 'vpc-0123abcd' },
      'subnetIds: expected a comma-separated list, since vpcId is set',
    ],
    [
      'fewer zones than subnets',
      { ...GOOD, ...IN_A_VPC, availabilityZones: 'a' },
      'availabilityZones: expected one per subnet, 2 in total, got 1',
    ],
    [
      'subnets without a VPC',
      { ...GOOD, subnetIds: 'subnet-0123abcd' },
      'vpcId: expected the id of a VPC, since subnetIds is set',
    ],
    [
      'a maxConnections that is not a number',
      { ...GOOD, maxConnections: 'many' },
      'maxConnections: expected a whole number above 0, got "many"',
    ],
    ['an unknown value for alarms', { ...GOOD, alarms: 'some' }, 'alarms: expected one of on, off, got "some"'],
    [
      'an email address with alarms off',
      { ...GOOD, alarms: 'off', alarmEmail: 'on.call@example.com' },
      'alarms: expected on, since alarmTopicArn or alarmEmail is set, got "off"',
    ],
    [
      'an unknown value for metricsByJobType',
      { ...GOOD, metricsByJobType: 'queue' },
      'metricsByJobType: expected one of on, off, got "queue"',
    ],
    ['settings that are not an object', { ...GOOD, settings: '[]' }, 'settings: expected JSON such as'],
    ['a setting that is not a string', { ...GOOD, settings: '{"AB": 1}' }, 'settings.AB: expected a string'],
    [
      'a reserved setting of Millrace',
      { ...GOOD, settings: '{"MILLRACE_STAGE": "x"}' },
      'settings.MILLRACE_STAGE: expected a name that neither Lambda nor Millrace uses',
    ],
  ])('%s', (_case, context, sentence) => {
    expect(() => readSettings(context)).toThrow(sentence);
  });

  it.each<[string, Context, string]>([
    [
      'the same secret twice',
      { databaseRuntimeSecret: databaseOwnerSecret },
      'databaseRuntimeSecret: expected a secret other',
    ],
    [
      'a secret in another region',
      { databaseAppSecret: ELSEWHERE },
      'databaseAppSecret: expected a secret in the account',
    ],
    ['a host with a login', { databaseHost: 'postgres://u:p@db' }, 'databaseHost: expected a host name alone'],
    ['a port above 65535', { databasePort: '99999' }, 'databasePort: expected a port from 1 to 65535'],
    ['a file without certificates', { databaseCa: 'package.json' }, 'databaseCa: expected the path of a PEM file'],
    ['a missing certificate file', { databaseCa: '/no.pem' }, 'databaseCa: expected the path of an existing PEM file'],
    ['an invalid VPC id', { ...IN_A_VPC, vpcId: 'vpc-1' }, 'vpcId: expected the id of a VPC, such as vpc-0123'],
    [
      'an invalid security group id',
      { ...IN_A_VPC, securityGroupIds: 'sg' },
      'securityGroupIds: expected ids such as sg-0',
    ],
    ['a topic of SQS', { alarmTopicArn: 'arn:aws:sqs:x:123456789012:q' }, 'alarmTopicArn: expected the ARN of an SNS'],
    ['an email address without a host', { alarmEmail: 'oncall' }, 'alarmEmail: expected an email address such as'],
    ['an issuer without TLS', { ...JWT, jwtIssuer: 'http://x' }, 'jwtIssuer: expected a URL that begins with https'],
    [
      'an issuer without an API',
      { api: 'off', jwtIssuer: 'https://x' },
      'jwtIssuer: expected no value, since api is off',
    ],
    ['an unknown scope', iam({ 'arn:aws:iam::1:user/x': ['root'] }), 'apiIamScopes: expected known scopes or roles'],
    [
      'an IAM pattern for all callers',
      iam({ '*': ['admin'] }),
      'apiIamScopes: expected ARN patterns, which begin with arn:',
    ],
    ['an invalid handler name in drain', { drain: 'Old Report!' }, 'drain: expected handler names such as old_report'],
    [
      'a new database with secrets',
      { database: 'create' },
      'databaseOwnerSecret: expected no value, since database is',
    ],
    [
      'one subnet for Aurora',
      { ...NEW, subnetIds: 'subnet-0123abcd' },
      'subnetIds: expected at least two, in two zones',
    ],
    ['a setting with a hyphen', { settings: '{"a-b": "x"}' }, 'settings.a-b: expected a name of at least two'],
    [
      'a reserved setting of Lambda',
      { settings: '{"AWS_REGION": "x"}' },
      'settings.AWS_REGION: expected a name that neither',
    ],
    [
      'a setting with options of Node',
      { settings: '{"NODE_OPTIONS": "x"}' },
      'settings.NODE_OPTIONS: expected a name that neither',
    ],
    [
      'settings above 3 kB',
      { settings: { LONG: 'x'.repeat(3100) } },
      'settings: expected at most 3072 bytes in total, got 31',
    ],
  ])('%s', (_case, context, sentence) => {
    expect(() => readSettings({ ...GOOD, ...context })).toThrow(sentence);
  });

  it.each<[string, Context, string]>([
    ['a missing handlers folder', { handlers: '/nowhere' }, 'handlers: the folder /nowhere does not exist'],
    [
      'an egress that does not reach the issuer',
      { ...IN_A_VPC, api: 'jwt', jwtIssuer: 'https://a.b', jwtAudience: 'x', egress: 'endpoints' },
      'egress: expected none, since the API fetches the keys of jwtIssuer, got "endpoints"',
    ],
    [
      'a new VPC without egress',
      { ...NEW, egress: 'none' },
      'egress: expected endpoints or nat, since the VPC of a new database has no other route, got "none"',
    ],
    ['an egress without a VPC', { egress: 'nat', database: 'existing' }, 'egress: expected no value without a VPC'],
  ])('%s', async (_case, context, sentence) => {
    await expect(synthesise({ ...EXISTING, ...context })).rejects.toThrow(sentence);
  });
});

describe('readSettings', () => {
  it('reads settings from context values', () => {
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
      network: { inside: { vpcId: 'vpc-0123abcd', subnetIds: ['subnet-0123abcd', 'subnet-4567abcd'] } },
    });
  });

  it('ignores the values that CDK itself puts into the context', () => {
    const context = {
      ...GOOD,
      'aws:cdk:enable-path-metadata': true,
      '@aws-cdk/core:x': true,
      'availability-zones:account=1': ['a'],
    };

    expect(() => readSettings(context)).not.toThrow();
  });
});
