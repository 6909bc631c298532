import { Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, it } from 'vitest';
import type { Context } from '../../infra/settings/context.ts';
import { expectNoViolation } from './nag-report.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const IN_A_VPC = {
  vpcId: 'vpc-0123abcd',
  subnetIds: 'subnet-0123abcd,subnet-4567abcd',
  availabilityZones: 'a,b',
  securityGroupIds: 'sg-0123abcd',
};
const SCOPES = '{"arn:aws:sts::123456789012:assumed-role/OnCall/*": ["operator"]}';
const JWT = { api: 'jwt', jwtIssuer: 'https://login.example.com', jwtAudience: 'jobs' };

it.each<[string, Context, Readonly<Record<string, number>>]>([
  [
    'a new database behind endpoints',
    {},
    { 'AWS::EC2::VPCEndpoint': 3, 'AWS::EC2::NatGateway': 0, 'AWS::RDS::DBCluster': 1 },
  ],
  [
    'a new database behind a NAT gateway',
    { egress: 'nat', ...JWT },
    { 'AWS::EC2::VPCEndpoint': 0, 'AWS::EC2::NatGateway': 1 },
  ],
  [
    'a database with a public address, and callers authenticated by IAM',
    { ...EXISTING, api: 'iam', apiIamScopes: SCOPES },
    { 'AWS::EC2::VPC': 0, 'AWS::RDS::DBCluster': 0 },
  ],
  [
    'a database in a VPC, and no API',
    { ...EXISTING, ...IN_A_VPC, egress: 'endpoints', api: 'off' },
    { 'AWS::EC2::VPC': 0, 'AWS::EC2::VPCEndpoint': 3, 'AWS::ApiGatewayV2::Api': 0 },
  ],
])('follows the rules of AWS Solutions, or acknowledges exceptions, with %s', async (_case, context, counts) => {
  await expectNoViolation(context, counts);
});

it('fails the synthesis when a resource breaks a rule', async () => {
  const { app, stack } = await synthesise(EXISTING);
  const { Queue } = await import('aws-cdk-lib/aws-sqs');
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  new Queue(stack, 'Open');

  expect(() => app.synth()).toThrow();
}, 300_000);
