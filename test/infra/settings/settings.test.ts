import { describe, expect, it } from 'vitest';
import type { Context } from '../../../infra/settings/context.ts';
import { readSettings } from '../../../infra/settings/settings.ts';
import { EXISTING, synthesise } from '../synthesise.ts';

const GOOD: Context = { ...EXISTING, stage: 'prod' };
const IN_A_VPC = {
  ...{ vpcId: 'vpc-0123abcd', subnetIds: 'subnet-0123abcd,subnet-4567abcd', availabilityZones: 'a,b' },
  securityGroupIds: 'sg-0123abcd',
};

const JWT = { api: 'jwt', jwtAudience: 'x' };
const iam = (scopes: object): Context => ({ api: 'iam', apiIamScopes: scopes });

describe('readSettings names the setting for', () => {
  it.each<[string, Context, string]>([
    ['a stage in capitals', { ...GOOD, stage: 'Prod' }, 'stage: expected at most 12 lower-case letters'],
    ['a stage of 13 letters', { ...GOOD, stage: 'abcdefghijklm' }, 'stage: expected at most 12 lower-case letters'],
    ['no stage', EXISTING, 'stage: expected at most 12 lower-case letters and digits, a letter first, got nothing'],
    ['an unknown name', { ...GOOD, datbase: 'x' }, 'context: expected one of stage, stages, handlers, '],
    [
      'an unknown dispatch mode',
      { ...GOOD, dispatch: 'never' },
      'dispatch: expected one of auto, loop, tick, got "never"',
    ],
    ['a poll interval of an hour', { ...GOOD, pollInterval: '1h' }, 'pollInterval: expected 100ms to 60s, got "3600s"'],
    [
      'a poll interval without a unit',
      { ...GOOD, pollInterval: 'soon' },
      'pollInterval: expected a duration such as 30s',
    ],
    ['a claim limit of none', { ...GOOD, claimLimit: '0' }, 'claimLimit: expected a whole number above 0, got "0"'],
    ['a claim limit above the most', { ...GOOD, claimLimit: '10001' }, 'claimLimit: expected '],
    [
      'an unknown architecture',
      { ...GOOD, architecture: 'arm' },
      'architecture: expected one of arm64, x86_64, got "arm"',
    ],
    [
      'an unknown authentication mode of the API',
      { ...GOOD, api: 'open' },
      'api: expected one of api-key, iam, jwt, off, got "open"',
    ],
    ['iam without scopes', { ...GOOD, api: 'iam' }, 'apiIamScopes: expected JSON such as {"arn:aws:sts::'],
    ['scopes that are not JSON', { ...GOOD, api: 'iam', apiIamScopes: '{' }, 'apiIamScopes: expected JSON such as'],
    [
      'jwt without an issuer',
      { ...GOOD, api: 'jwt' },
      'jwtIssuer: expected the issuer of the tokens, since api is jwt',
    ],
    [
      'a maxConnections that is not a number',
      { ...GOOD, maxConnections: 'many' },
      'maxConnections: expected a whole number above 0, got "many"',
    ],
    [
      'an account that allows nothing',
      { ...GOOD, accountConcurrency: '0' },
      'accountConcurrency: expected a whole number above 0, got "0"',
    ],
    ['an unknown value for alarms', { ...GOOD, alarms: 'some' }, 'alarms: expected one of on, off, got "some"'],
    [
      'an email address with alarms off',
      { ...GOOD, alarms: 'off', alarmEmail: 'on.call@example.com' },
      'alarms: expected on, since alarmTopicArn, alarmEmail or alarmWebhook is set, got "off"',
    ],
    [
      'the alias of a key',
      { ...GOOD, kmsKey: 'arn:aws:kms:eu-central-1:123456789012:alias/jobs' },
      'kmsKey: expected the ARN of a key of KMS in the region of the stack, which contains :key/, got "arn:aws:kms:',
    ],
    ['an unknown value for tracing', { ...GOOD, tracing: 'active' }, 'tracing: expected one of on, off, got "active"'],
    ['tags that AWS reserves', { ...GOOD, tags: { 'aws:x': 'y' } }, 'tags.aws:x: expected a name that does not begin'],
    ['a tag that is a number', { ...GOOD, tags: '{"team": 1}' }, 'tags.team: expected a string, got "1"'],
    ['alarms without metrics', { ...GOOD, metrics: 'off' }, 'metrics: expected on, since alarms is on, got "off"'],
    [
      'an unknown value for metricsByJobType',
      { ...GOOD, metricsByJobType: 'queue' },
      'metricsByJobType: expected one of on, off, got "queue"',
    ],
    [
      'an unknown value for logJobStarts',
      { ...GOOD, logJobStarts: 'false' },
      'logJobStarts: expected one of on, off, got "false"',
    ],
    ['settings that are not an object', { ...GOOD, settings: '[]' }, 'settings: expected JSON such as'],
    ['a setting that is not a string', { ...GOOD, settings: '{"AB": 1}' }, 'settings.AB: expected a string'],
    [
      'a reserved setting of Millrace',
      { ...GOOD, settings: '{"MILLRACE_STAGE": "x"}' },
      'settings.MILLRACE_STAGE: expected a name that neither Lambda nor Millrace uses, except MILLRACE_MAX_ATTEMPTS, ',
    ],
    [
      'a misspelled variable of attempts',
      { ...GOOD, settings: '{"MILLRACE_MAX_ATEMPTS": "3"}' },
      'MILLRACE_JOB_TIMEOUT, alone or with the name of a handler, got "MILLRACE_MAX_ATEMPTS"',
    ],
  ])('%s', (_case, context, sentence) => {
    expect(() => readSettings(context)).toThrow(sentence);
  });

  it.each<[string, Context, string]>([
    ['a topic of SQS', { alarmTopicArn: 'arn:aws:sqs:x:123456789012:q' }, 'alarmTopicArn: expected the ARN of an SNS'],
    [
      'a webhook without TLS',
      { alarmWebhook: 'http://hooks.example.com/x' },
      'alarmWebhook: expected a URL that begins',
    ],
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

  it('a missing handlers folder', async () => {
    const made = synthesise({ ...EXISTING, handlers: '/nowhere' });

    await expect(made).rejects.toThrow('handlers: the folder /nowhere does not exist');
  });
});

describe('readSettings', () => {
  it('reads settings from context values', () => {
    const settings = readSettings({
      ...GOOD,
      ...IN_A_VPC,
      drain: 'a, b',
      maxConnections: 200,
      accountConcurrency: 3000,
      pollInterval: '2.5s',
      claimLimit: '100',
      settings: '{"SMTP_FROM": "x"}',
    });

    expect(settings).toMatchObject({
      stage: 'prod',
      dispatch: 'auto',
      architecture: 'arm64',
      drain: ['a', 'b'],
      maxConnections: 200,
      accountConcurrency: 3000,
      pollInterval: 2.5,
      claimLimit: 100,
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
