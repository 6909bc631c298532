import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { App, Stack } from 'aws-cdk-lib';
import { SecurityGroup, Subnet } from 'aws-cdk-lib/aws-ec2';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { expect, it } from 'vitest';
import type { AwsOptions } from '../../core/handler/aws/aws-options.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { Millrace, type MillraceProps } from '../../infra/millrace.ts';
import { checkOwn } from '../../infra/own-checks.ts';
import { Deployed } from './deployed.ts';
import { EXISTING } from './synthesise.ts';

/** Makes a stage with one handler, whose definition has these options. */
function deploy(aws: AwsOptions, props: Partial<MillraceProps> = {}) {
  const payload = { '~standard': { version: 1, vendor: 'none', validate: (value: unknown) => ({ value }) } } as const;
  const definition = defineHandler({ jobType: 'send_reminder', payload, aws, run: async () => undefined });
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
  const stack = new Stack(app, 'Shop');
  const database = {
    kind: 'existing',
    ownerSecret: String(EXISTING.databaseOwnerSecret),
    runtimeSecret: String(EXISTING.databaseRuntimeSecret),
  } as const;
  const file = resolve('functions/handlers/send-reminder.ts');
  const handlers = [{ definition, file, name: 'send_reminder' }];
  const millrace = new Millrace(stack, 'Jobs', { stage: 'shop', handlers, database, ...props });
  return { app, stack, millrace, deployed: () => new Deployed(stack) };
}

const FUNCTION = 'millrace-shop-send_reminder';

it('gives the function the permissions and variables of its definition, which cdk-nag accepts', () => {
  const resources = ['arn:aws:s3:::{stage}-invoices/*', 'arn:aws:sns:{region}:{account}:paid-*'];
  const environment = { INVOICE_FORMAT: 'pdf', LOCALE: 'de' };
  const policy = [{ actions: ['s3:Put*', 'sns:Publish'], resources }];
  const { app, millrace, deployed } = deploy({ policy, environment }, { settings: { LOCALE: 'fr' } });
  checkOwn(app, millrace);

  app.synth();

  const statement = deployed()
    .statementsOf(FUNCTION)
    .find(({ Action }) => JSON.stringify(Action).includes('s3:Put*'));
  expect(statement).toMatchObject({ Action: ['s3:Put*', 'sns:Publish'] });
  const shown = JSON.stringify(statement?.Resource);
  expect(shown).toContain('arn:aws:s3:::shop-invoices/*');
  expect(shown).toMatch(/arn:aws:sns:",\{"Ref":"AWS::Region"\},":",\{"Ref":"AWS::AccountId"\},":paid-\*/);
  expect(deployed().find('AWS::Lambda::Function', 'FunctionName', FUNCTION)).toMatchObject({
    Environment: { Variables: { INVOICE_FORMAT: 'pdf', LOCALE: 'fr' } },
  });
});

it('gives the function the temporary storage, tracing and layers of its definition, which cdk-nag accepts', () => {
  const layers = ['arn:aws:lambda:{region}:123456789012:layer:fonts:3'];
  const { app, millrace, deployed } = deploy({ ephemeralStorage: 2048, tracing: true, layers });
  checkOwn(app, millrace);

  app.synth();

  const found = deployed().find('AWS::Lambda::Function', 'FunctionName', FUNCTION);
  expect(found).toMatchObject({ EphemeralStorage: { Size: 2048 }, TracingConfig: { Mode: 'Active' } });
  expect(JSON.stringify(found?.Layers)).toMatch(
    /"arn:aws:lambda:",\{"Ref":"AWS::Region"\},":123456789012:layer:fonts:3"/,
  );
});

it.each([
  [undefined, true, 'Active'],
  [false, true, undefined],
  [true, false, 'Active'],
  [undefined, false, undefined],
])('with tracing %s in the definition and %s for the stage, the function has the mode %s', (own, tracing, mode) => {
  const { deployed } = deploy(own === undefined ? {} : { tracing: own }, { tracing });

  const found = deployed().find('AWS::Lambda::Function', 'FunctionName', FUNCTION);
  expect(found?.TracingConfig).toEqual(mode && { Mode: mode });
});

it('lets SQS invoke an alias with provisioned concurrency', () => {
  const { deployed } = deploy({ provisionedConcurrency: 3, environment: { LOCALE: 'de' } });

  const alias = deployed().find('AWS::Lambda::Alias', 'Name', 'live');
  const mappings = deployed().all('AWS::Lambda::EventSourceMapping');

  const provisioned = { ProvisionedConcurrentExecutions: 3 };
  expect(alias).toMatchObject({ ProvisionedConcurrencyConfig: provisioned });
  expect(mappings).toHaveLength(1);
  const name = JSON.stringify(mappings[0]?.Properties.FunctionName);
  expect(name).toContain(deployed().idOf('AWS::Lambda::Alias', { Name: 'live' }));
  expect(name).toContain('":live"');
});

it('refuses a secret among the variables of a definition, unless notSecret lists it', () => {
  const aws = { environment: { STRIPE_KEY: 'pk_live_published' } };

  expect(() => deploy(aws)).toThrow('send_reminder: aws.environment.STRIPE_KEY: expected no secret');
  expect(() => deploy(aws, { notSecret: ['STRIPE_KEY'] })).not.toThrow();
});

const IMAGE = '123456789012.dkr.ecr.eu-central-1.amazonaws.com/jobs:3f2c1a9';

it('runs a container image with the memory, variables, permissions and alias of the handler', () => {
  const aws = { environment: { LOCALE: 'de' }, ephemeralStorage: 2048, provisionedConcurrency: 2 };
  const { stack, millrace, deployed } = deploy(aws);
  const handler = millrace.handler('send_reminder');

  handler.useImage(IMAGE);
  new Bucket(stack, 'Invoices').grantPut(handler);

  const found = deployed().find('AWS::Lambda::Function', 'FunctionName', FUNCTION);
  expect(found).toMatchObject({
    ...{ PackageType: 'Image', Code: { ImageUri: IMAGE }, EphemeralStorage: { Size: 2048 } },
    ...{ MemorySize: handler.plan.memoryMb, Timeout: handler.plan.functionTimeout },
    Environment: { Variables: { LOCALE: 'de', MILLRACE_STAGE: 'shop', MILLRACE_DATABASE_CA: expect.any(String) } },
  });
  for (const absent of ['Runtime', 'Handler', 'Layers']) expect(found).not.toHaveProperty(absent);
  expect(JSON.stringify(deployed().statementsOf(FUNCTION))).toContain('s3:PutObject');
  expect(deployed().find('AWS::Lambda::Alias', 'Name', 'live')).toBeDefined();
});

it('refuses an image without the tag of one build, and for a handler with layers', () => {
  const handler = deploy({ layers: ['arn:aws:lambda:{region}:123456789012:layer:fonts:3'] }).millrace.handlers[0];

  for (const uri of [IMAGE.replace(/:.*/, ''), IMAGE.replace(/:.*/, ':latest'), 'docker.io/library/node:24']) {
    expect(() => handler?.function.useImage(uri)).toThrow('image: expected the URI of an image in ECR');
  }
  expect(() => handler?.useImage(IMAGE)).toThrow('send_reminder: aws.layers: expected none');
});

const PLACED = { SubnetIds: ['subnet-aaaaaaaa', 'subnet-bbbbbbbb'], SecurityGroupIds: ['sg-01234567'] };

it.each<[string, Partial<MillraceProps>]>([
  ['outside a VPC', {}],
  ['in the new VPC of its database', { database: { kind: 'create' } }],
])('runs one handler of a stage %s in subnets of its own', (_where, props) => {
  const { stack, millrace, deployed } = deploy({}, props);
  const handler = millrace.handler('send_reminder');
  const subnets = ['a', 'b'].map((zone) => Subnet.fromSubnetId(stack, zone, `subnet-${zone.repeat(8)}`));
  const securityGroups = [SecurityGroup.fromSecurityGroupId(stack, 'Ledger', 'sg-01234567')];

  expect(() => handler.useVpc({ subnets: [], securityGroups })).toThrow('subnets: expected 1 to 16');
  handler.useVpc({ subnets, securityGroups });

  const found = deployed();
  const placed = found
    .all('AWS::Lambda::Function')
    .filter(({ Properties }) => isDeepStrictEqual(Properties.VpcConfig, PLACED));
  expect(placed.map(({ Properties }) => Properties.FunctionName)).toEqual([FUNCTION]);
  const roles = Object.entries(found.resources).filter(([id]) => JSON.stringify(placed[0]).includes(`["${id}","Arn"]`));
  expect(JSON.stringify(roles).match(/AWSLambdaENIManagementAccess/g)).toHaveLength(1);
});
