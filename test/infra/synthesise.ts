import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import type { Context } from '../../infra/settings/context.ts';
import { MillraceStack } from '../../infra/stack.ts';

const CDK = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8')) as { context: Context };
/** Without the list of stages: tests choose their own. */
const { stages: _list, ...FLAGS } = CDK.context;
const CONTEXT: Context = { ...FLAGS, database: 'create' };

const SECRET = 'arn:aws:secretsmanager:eu-central-1:123456789012:secret';

/** Context for an existing database. */
export const EXISTING: Context = {
  database: 'existing',
  databaseOwnerSecret: `${SECRET}:owner-AbCdEf`,
  databaseRuntimeSecret: `${SECRET}:runtime-AbCdEf`,
};

/** Context for an existing database to which functions log in with tokens of IAM. */
export const IAM: Context = {
  ...{ database: 'existing', databaseLogin: 'iam', databaseOwnerSecret: `${SECRET}:owner-AbCdEf` },
  ...{ databaseUser: 'prod_functions', databaseResourceId: 'db-ABCDEFGHIJKL01234' },
  ...{ databaseHost: 'db.example.com', databaseName: 'jobs' },
};

/** Context for a stage that can be deleted, and has everything that a protected one has. */
export const WATCHED: Context = { protect: 'off', alarms: 'on', dashboard: 'on', metricsByJobType: 'on' };

/** The setting of the CDK command for `cdk list`: native packages, which require the network, are not installed. */
const NO_ASSETS = { 'aws:cdk:bundling-stacks': [] };

/** Makes the stack as `cdk synth` does, from `cdk.json`, these context values and these environment variables. */
export async function synthesise(
  context: Context = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<{ app: App; stack: MillraceStack }> {
  const app = new App({ context: { ...CONTEXT, ...NO_ASSETS, ...context } });
  return { app, stack: new MillraceStack(app, { context: { ...CONTEXT, ...context }, environment }) };
}
