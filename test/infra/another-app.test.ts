import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, it } from 'vitest';
import { loadCatalog } from '../../core/catalog/catalog.ts';
import { openProbe } from '../../core/catalog/probe.ts';
import { Millrace } from '../../infra/millrace.ts';
import { EXISTING } from './synthesise.ts';

// Without our cdk.json: another app does not have its feature flags.
const app = new App();
const stack = new Stack(app, 'Shop');
const { handlers } = await loadCatalog('functions/handlers', openProbe());
const millrace = new Millrace(stack, 'Jobs', {
  ...{ stage: 'shop', handlers, dispatch: 'auto', architecture: 'arm64', version: '1.0.0', settings: {}, drain: [] },
  database: {
    kind: 'existing',
    ownerSecret: String(EXISTING.databaseOwnerSecret),
    runtimeSecret: String(EXISTING.databaseRuntimeSecret),
  },
  ...{ network: {}, api: { mode: 'api-key' }, alarms: {}, dashboard: true, metricsByJobType: true },
  maxConnections: undefined,
});

it('follows the rules of AWS Solutions in another app, among other resources', () => {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const dead = new Queue(stack, 'Dead', { enforceSSL: true });
  new Queue(stack, 'Theirs', { enforceSSL: true, deadLetterQueue: { queue: dead, maxReceiveCount: 3 } });

  app.synth();

  const report = JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8'));
  const violations = report.pluginReports.flatMap((one: { violations: unknown[] }) => one.violations);
  expect(violations).toEqual([]);
  Template.fromStack(stack).resourceCountIs('AWS::SQS::Queue', 2 * handlers.length + 2);
});

it('exposes its parts to the other app', () => {
  expect(millrace.handlers.map(({ plan }) => plan.queueName)).toEqual([
    'millrace-shop-make_thumbnail',
    'millrace-shop-send_reminder',
  ]);
  expect(millrace.operatorPolicy).toBeDefined();
  expect(millrace.api).toBeDefined();
});
