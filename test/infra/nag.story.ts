import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { expect, it } from 'vitest';
import { extendBy } from '../../infra/extension.ts';
import { checkOwn } from '../../infra/own-checks.ts';
import type { Context } from '../../infra/settings/context.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Deployed } from './deployed.ts';
import { KEY } from './key-uses.ts';
import { expectNoViolation } from './nag-report.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const IN_A_VPC = {
  vpcId: 'vpc-0123abcd',
  subnetIds: 'subnet-0123abcd,subnet-4567abcd',
  availabilityZones: 'a,b',
  securityGroupIds: 'sg-0123abcd',
};
const SCOPES = '{"arn:aws:sts::123456789012:assumed-role/OnCall/*": ["operator"]}';
const DOMAIN = {
  apiDomain: 'jobs.example.com',
  apiCertificate: 'arn:aws:acm:eu-central-1:123456789012:certificate/0123-4567',
};
const ENCRYPTED = { kmsKey: KEY, alarmEmail: 'oncall@example.com' };
const JWT = { api: 'jwt', jwtIssuer: 'https://login.example.com', jwtAudience: 'jobs' };

it.each<[string, Context, Readonly<Record<string, number>>]>([
  [
    'a small database',
    { database: 'small' },
    { 'AWS::EC2::EgressOnlyInternetGateway': 1, 'AWS::RDS::DBInstance': 1, 'AWS::RDS::DBCluster': 0 },
  ],
  [
    'a protected cluster behind endpoints, a key of the user, tokens of IAM, traces, and tokens that API Gateway verifies',
    {
      database: 'create',
      databaseLogin: 'iam',
      protect: 'on',
      egress: 'endpoints',
      ...JWT,
      ...ENCRYPTED,
      tracing: 'on',
    },
    {
      'AWS::ApiGatewayV2::Authorizer': 1,
      'AWS::EC2::VPCEndpoint': 3,
      'AWS::EC2::NatGateway': 0,
      'AWS::RDS::DBCluster': 1,
    },
  ],
  [
    'a new database behind a NAT gateway, tokens that the function verifies, and a domain without an access log',
    { egress: 'nat', ...JWT, jwtAlgorithms: 'ES256', apiAccessLog: 'off', ...DOMAIN },
    {
      'AWS::ApiGatewayV2::Authorizer': 0,
      'AWS::ApiGatewayV2::DomainName': 1,
      'AWS::EC2::VPCEndpoint': 0,
      'AWS::EC2::NatGateway': 1,
    },
  ],
  [
    'a database with a public address, and callers authenticated by IAM',
    { ...EXISTING, api: 'iam', apiIamScopes: SCOPES },
    { 'AWS::EC2::VPC': 0, 'AWS::RDS::DBCluster': 0 },
  ],
  [
    'a database in a VPC, and no API',
    { ...EXISTING, ...IN_A_VPC, egress: 'endpoints', api: 'off' },
    { 'AWS::EC2::VPC': 0, 'AWS::EC2::VPCEndpoint': 2, 'AWS::ApiGatewayV2::Api': 0 },
  ],
])('follows the rules of AWS Solutions, or acknowledges exceptions, with %s', async (_case, context, counts) => {
  await expectNoViolation(context, counts);
});

it('fails the synthesis when a construct of Millrace breaks a rule', async () => {
  const { app, stack } = await synthesise(EXISTING);
  new Queue(stack.millrace, 'Open');
  checkOwn(app, stack.millrace);

  expect(() => app.synth()).toThrow();
}, 300_000);

it('judges nothing that infra/extend.ts adds: a bucket, and the permission of a handler to write to it', async () => {
  const { app, stack } = await synthesise(EXISTING);
  const file = join(await temporaryFolder(), 'extend.ts');
  const made = `import { Bucket } from ${JSON.stringify(import.meta.resolve('aws-cdk-lib/aws-s3'))};
  export default (millrace, stack) => {
    new Bucket(stack, 'Invoices').grantPut(millrace.handler('send_reminder'));
  };`;
  await writeFile(file, made);
  checkOwn(app, stack.millrace);
  await extendBy(file, stack);

  app.synth();

  const deployed = new Deployed(stack);
  expect(deployed.all('AWS::S3::Bucket')).toHaveLength(1);
  expect(JSON.stringify(deployed.statementsOf('millrace-dev-send_reminder'))).toContain('s3:PutObject');
}, 300_000);

it('names an infra/extend.ts without a function, and requires no such file', async () => {
  const file = join(await temporaryFolder(), 'extend.ts');
  const { stack } = await synthesise(EXISTING);

  await extendBy(file, stack);
  await writeFile(file, 'export const extend = () => undefined;');

  await expect(extendBy(file, stack)).rejects.toThrow(`${file}: expected a function`);
}, 300_000);
