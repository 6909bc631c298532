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
      'databaseOwnerSecret: expected the whole ARN of a secret in Secrets Manager, with the six characters at its end',
    ],
    [
      'a secret by its name',
      { ...GOOD, databaseRuntimeSecret: 'runtime' },
      'databaseRuntimeSecret: expected the whole ARN of a secret',
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
      { ...GOOD, vpcId: 'vpc-0123abcd' },
      'subnetIds: expected names with commas between them, since vpcId is given',
    ],
    [
      'a zone too few',
      { ...GOOD, ...IN_A_VPC, availabilityZones: 'a' },
      'availabilityZones: expected one a subnet, 2, got 1',
    ],
    [
      'subnets without a VPC',
      { ...GOOD, subnetIds: 'subnet-0123abcd' },
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
    ['a setting that is no text', { ...GOOD, settings: '{"AB": 1}' }, 'settings.AB: expected text'],
    [
      'a setting of ours',
      { ...GOOD, settings: '{"MILLRACE_STAGE": "x"}' },
      'settings.MILLRACE_STAGE: expected a name that neither Lambda nor the app uses',
    ],
  ])('%s', (_case, context, sentence) => {
    expect(() => readSettings(context)).toThrow(sentence);
  });

  it.each<[string, Context, string]>([
    ['one secret for two', { databaseRuntimeSecret: databaseOwnerSecret }, 'databaseRuntimeSecret: expected another'],
    ['a secret of elsewhere', { databaseAppSecret: ELSEWHERE }, 'databaseAppSecret: expected a secret of the account'],
    ['a host with a login', { databaseHost: 'postgres://u:p@db' }, 'databaseHost: expected a host alone'],
    ['a port too high', { databasePort: '99999' }, 'databasePort: expected a port from 1 to 65535'],
    ['no certificates', { databaseCa: 'package.json' }, 'databaseCa: expected the path of a PEM file'],
    ['certificates that are not there', { databaseCa: '/no.pem' }, 'databaseCa: expected the path of a PEM file with'],
    ['a VPC that is none', { ...IN_A_VPC, vpcId: 'vpc-1' }, 'vpcId: expected the id of a VPC, such as vpc-0123'],
    ['a group that is none', { ...IN_A_VPC, securityGroupIds: 'sg' }, 'securityGroupIds: expected ids such as sg-0'],
    ['a topic of SQS', { alarmTopicArn: 'arn:aws:sqs:x:123456789012:q' }, 'alarmTopicArn: expected the ARN of an SNS'],
    ['an address without a host', { alarmEmail: 'nobody' }, 'alarmEmail: expected an address such as'],
    [
      'an issuer without TLS',
      { ...JWT, jwtIssuer: 'http://x' },
      'jwtIssuer: expected an address that begins with https',
    ],
    ['an issuer for nobody', { api: 'off', jwtIssuer: 'https://x' }, 'jwtIssuer: expected nothing, since api is off'],
    ['a scope that there is not', iam({ 'arn:aws:iam::1:user/x': ['root'] }), 'apiIamScopes: expected scopes or roles'],
    ['everybody', iam({ '*': ['admin'] }), 'apiIamScopes: expected patterns of ARNs, which begin with arn:'],
    ['a drain that is no handler', { drain: 'Old Report!' }, 'drain: expected names of handlers, such as old_report'],
    ['a new database with secrets', { database: 'create' }, 'databaseOwnerSecret: expected nothing, since database is'],
    [
      'one subnet for Aurora',
      { ...NEW, subnetIds: 'subnet-0123abcd' },
      'subnetIds: expected two at least, in two zones',
    ],
    ['a setting with a hyphen', { settings: '{"a-b": "x"}' }, 'settings.a-b: expected a name of letters, digits and _'],
    ['a setting of Lambda', { settings: '{"AWS_REGION": "x"}' }, 'settings.AWS_REGION: expected a name that neither'],
    ['options of Node', { settings: '{"NODE_OPTIONS": "x"}' }, 'settings.NODE_OPTIONS: expected a name that neither'],
    [
      'large settings',
      { settings: { LONG: 'x'.repeat(3100) } },
      'settings: expected at most 3072 bytes in all, got 31',
    ],
  ])('%s', (_case, context, sentence) => {
    expect(() => readSettings({ ...GOOD, ...context })).toThrow(sentence);
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
      { ...NEW, egress: 'none' },
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
      network: { inside: { vpcId: 'vpc-0123abcd', subnetIds: ['subnet-0123abcd', 'subnet-4567abcd'] } },
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
