import { expect, it } from 'vitest';
import type { Context } from '../../../infra/settings/context.ts';
import { readSettings } from '../../../infra/settings/settings.ts';
import { EXISTING, IAM, synthesise } from '../synthesise.ts';

const GOOD: Context = { ...EXISTING, stage: 'prod' };
const { databaseOwnerSecret, ...OWNERLESS } = GOOD;
const NEW: Context = { database: 'create', databaseOwnerSecret: '', databaseRuntimeSecret: '' };
const IN_A_VPC = {
  ...{ vpcId: 'vpc-0123abcd', subnetIds: 'subnet-0123abcd,subnet-4567abcd', availabilityZones: 'a,b' },
  securityGroupIds: 'sg-0123abcd',
};
const ELSEWHERE = 'arn:aws:secretsmanager:us-east-1:123456789012:secret:app-AbCdEf';

it.each<[string, Context, string]>([
  [
    'an unknown database',
    { ...GOOD, database: 'mine' },
    'database: expected one of create, small, existing, got "mine"',
  ],
  ['an unknown egress', { ...GOOD, egress: 'vpn' }, 'egress: expected one of ipv6, endpoints, nat, none, got "vpn"'],
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
])('readSettings names the setting for %s', (_case, context, sentence) => {
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
  ['a new database with secrets', { database: 'create' }, 'databaseOwnerSecret: expected no value, since database is'],
  [
    'a standby of an existing database',
    { standby: 'on' },
    'standby: expected off, since database is existing, got "on"',
  ],
  ['one subnet for Aurora', { ...NEW, subnetIds: 'subnet-0123abcd' }, 'subnetIds: expected at least two, in two zones'],
])('readSettings names the setting for %s', (_case, context, sentence) => {
  expect(() => readSettings({ ...GOOD, ...context })).toThrow(sentence);
});

it.each<[string, Context, string]>([
  [
    'an egress that does not reach the issuer',
    {
      ...IN_A_VPC,
      api: 'jwt',
      jwtIssuer: 'https://a.b',
      jwtAudience: 'x',
      jwtAlgorithms: 'ES256',
      egress: 'endpoints',
    },
    'egress: expected none or ipv6, since the API fetches the keys of jwtIssuer, got "endpoints"',
  ],
  [
    'a new VPC without egress',
    { ...NEW, egress: 'none' },
    'egress: expected ipv6, endpoints or nat, since the VPC of a new database has no other route, got "none"',
  ],
  ['an egress without a VPC', { egress: 'nat', database: 'existing' }, 'egress: expected no value without a VPC'],
])('makeStack names the setting for %s', async (_case, context, sentence) => {
  await expect(synthesise({ ...EXISTING, ...context })).rejects.toThrow(sentence);
});

it.each<[string, Context, object]>([
  ['dev', {}, { protect: false, standby: false, database: { kind: 'small' } }],
  ['prod', {}, { protect: true, standby: false, database: { kind: 'create' } }],
  ['prod', { protect: 'off' }, { protect: false, database: { kind: 'small' } }],
  ['prod', { database: 'small' }, { protect: true, database: { kind: 'small' } }],
  ['dev', { protect: 'on', standby: 'on' }, { protect: true, database: { kind: 'create' }, standby: true }],
])('a stage %s with %j is kept as its name says, or its settings', (stage, context, expected) => {
  expect(readSettings({ stage, ...context })).toMatchObject(expected);
});

it('functions log in with a password, unless the settings choose IAM', () => {
  const login = (context: Context) => readSettings({ stage: 'prod', ...context }).database;

  expect(login({})).toEqual({ kind: 'create' });
  expect(login({ databaseLogin: 'password' })).toEqual({ kind: 'create' });
  expect(login({ databaseLogin: 'iam' })).toEqual({ kind: 'create', login: 'iam' });
  expect(login({ ...IAM, databasePort: '5433' })).toEqual({
    ...{ kind: 'existing', login: 'iam', ownerSecret: databaseOwnerSecret },
    ...{ user: 'prod_functions', resourceId: 'db-ABCDEFGHIJKL01234' },
    ...{ host: 'db.example.com', port: '5433', name: 'jobs' },
  });
});

it.each<[string, Context, string]>([
  ['another login', { ...GOOD, databaseLogin: 'kerberos' }, 'databaseLogin: expected one of password, iam'],
  [
    'IAM without a user',
    { ...IAM, databaseUser: '' },
    'databaseUser: expected the name of a login in lower-case letters, digits and _, since databaseLogin is iam',
  ],
  ['IAM with a quoted user', { ...IAM, databaseUser: 'a*' }, 'databaseUser: expected the name of a login'],
  [
    'IAM with the ARN of a cluster',
    { ...IAM, databaseResourceId: 'arn:aws:rds:eu-central-1:123456789012:cluster:jobs' },
    'databaseResourceId: expected the resource id of a cluster or an instance of RDS, such as cluster-ABCDEFGHIJKL01234',
  ],
  ['IAM with a proxy', { ...IAM, databaseResourceId: 'prx-ABC' }, 'databaseResourceId: expected the resource id'],
  ['IAM without a host', { ...IAM, databaseHost: '' }, 'databaseHost: expected a host name alone'],
  ['IAM without a name', { ...IAM, databaseName: '' }, 'databaseName: expected the name of the database, since'],
  [
    'IAM and a secret of the functions',
    { ...IAM, databaseRuntimeSecret: GOOD.databaseRuntimeSecret },
    'databaseRuntimeSecret: expected no value, since databaseLogin is iam',
  ],
  [
    'a password and a user',
    { ...GOOD, databaseUser: 'functions' },
    'databaseUser: expected no value, since databaseLogin is password and not iam',
  ],
  [
    'a new database and a user',
    { database: 'small', databaseLogin: 'iam', databaseUser: 'functions' },
    'databaseUser: expected no value, since database is small and not existing',
  ],
])('readSettings names the setting for %s', (_case, context, sentence) => {
  expect(() => readSettings({ stage: 'prod', ...context })).toThrow(sentence);
});
