import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack, Validations } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, it } from 'vitest';
import { Millrace } from '../../infra/millrace.ts';
import { EXISTING } from './synthesise.ts';

// Without our cdk.json: another app does not have its feature flags.
const app = new App();
const stack = new Stack(app, 'Shop');
const millrace = new Millrace(stack, 'Jobs', {
  stage: 'shop',
  handlers: 'functions/handlers',
  pollInterval: 0.5,
  database: {
    kind: 'existing',
    ownerSecret: String(EXISTING.databaseOwnerSecret),
    runtimeSecret: String(EXISTING.databaseRuntimeSecret),
  },
});

it('follows the rules of AWS Solutions in another app, among other resources', () => {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const dead = new Queue(stack, 'Dead', { enforceSSL: true });
  new Queue(stack, 'Theirs', { enforceSSL: true, deadLetterQueue: { queue: dead, maxReceiveCount: 3 } });

  app.synth();

  const report = JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8'));
  const violations = report.pluginReports.flatMap((one: { violations: unknown[] }) => one.violations);
  expect(violations).toEqual([]);
  Template.fromStack(stack).resourceCountIs('AWS::SQS::Queue', 2 * millrace.handlers.length + 2);
});

it('exposes its parts to the other app', () => {
  expect(millrace.handlers.map(({ plan }) => plan.queueName)).toEqual([
    'millrace-shop-make_thumbnail',
    'millrace-shop-send_reminder',
  ]);
  expect(millrace.operatorPolicy).toBeDefined();
  expect(millrace.api).toBeDefined();
});

it('adds no output to the stack of the other app', () => {
  Template.fromStack(stack).templateMatches({ Outputs: Match.absent() });
});

it('sets the polling interval of the stage, and refuses one or a claim limit out of bounds', () => {
  Template.fromStack(stack).hasResourceProperties('AWS::Lambda::Function', {
    Environment: { Variables: Match.objectLike({ MILLRACE_POLL_INTERVAL: '0.5s' }) },
  });
  const millraceWith = (props: object) => () =>
    new Millrace(new Stack(new App(), 'Other'), 'Jobs', { stage: 'shop', ...props });
  expect(millraceWith({ pollInterval: 0.05 })).toThrow('pollInterval: expected 100ms to 60s, got "0.05s"');
  expect(millraceWith({ claimLimit: 0 })).toThrow('claimLimit: expected a whole number from 1 to 10000');
});

it('returns a handler by its name, and names the handlers for another name', () => {
  expect(millrace.handler('send_reminder').queue).toBeDefined();
  expect(() => millrace.handler('send_invoice')).toThrow(
    'no handler send_invoice: expected one of make_thumbnail, send_reminder',
  );
});
