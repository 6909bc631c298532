import { resolve } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
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
  return { app, millrace, deployed: () => new Deployed(stack) };
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
