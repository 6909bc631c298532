import { Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, it } from 'vitest';
import { expectNoViolation } from './nag-report.ts';
import { EXISTING, synthesise } from './synthesise.ts';

it('follows the rules of AWS Solutions, or acknowledges exceptions, with a new database behind endpoints', async () => {
  const counts = { 'AWS::EC2::VPCEndpoint': 3, 'AWS::EC2::NatGateway': 0, 'AWS::RDS::DBCluster': 1 };

  await expectNoViolation({}, counts);
});

it('fails the synthesis when a resource breaks a rule', async () => {
  const { app, stack } = await synthesise(EXISTING);
  const { Queue } = await import('aws-cdk-lib/aws-sqs');
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  new Queue(stack, 'Open');

  expect(() => app.synth()).toThrow();
}, 300_000);
