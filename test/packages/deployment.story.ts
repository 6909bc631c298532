import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readDocument } from '../docs/documents.ts';
import { execute, makeForeignProject, npm, type Packed, packAll } from './packed.ts';

const MODULES = resolve(import.meta.dirname, '../../node_modules');

const HANDLER = `
import { defineHandler } from 'millrace';
import { price } from '@/price';

export default defineHandler({
  jobType: 'send_invoice',
  payload: { '~standard': { version: 1 as const, vendor: 'app', validate: (value: unknown) => ({ value }) } },
  timeout: '2m',
  schedules: { 'nightly-invoices': { cron: '0 3 * * *', zone: 'Europe/Berlin' } },
  run: async () => ({ price }),
});
`;
const APP = `
import { App } from 'aws-cdk-lib';
import { MillraceStack } from 'millrace/cdk';

new MillraceStack(new App());
`;
/** A part of the stack of another app, in CommonJS. */
const PART = `
const { App, Stack, aws_s3: s3 } = require('aws-cdk-lib');
const { Millrace } = require('millrace/cdk');

const stack = new Stack(new App(), 'Shop');
const variables = { MILLRACE_MAX_ATTEMPTS: '3', MILLRACE_RETRY_DELAY: '5' };
const millrace = new Millrace(stack, 'Jobs', { stage: 'shop', settings: { MILLRACE_RETRY_DELAY: '7' }, variables });
new s3.Bucket(stack, 'Invoices').grantRead(millrace.handler('send_invoice').function.lambda);
`;

/** The app that docs/adopt.md shows. */
const PRODUCTION = readDocument('docs/adopt.md').blocks.find(({ code }) =>
  code.startsWith('// production.mjs\n'),
)?.code;

const DEV = { stage: 'dev', database: 'create' };

let packed: Packed;
let project: string;

/** Runs the app of a file as the command of CDK does, and returns the template of its stack. */
async function synthesise(file: string, stack: string, context: object = {}, environment: object = {}) {
  const CDK_OUTDIR = join(project, `${file}.out`);
  const variables = { ...environment, CDK_OUTDIR, CDK_CONTEXT_JSON: JSON.stringify(context) };
  const { code, stderr } = await execute(project, process.execPath, [file], variables);
  if (code !== 0) return { stderr };
  return { stderr, template: JSON.parse(await readFile(join(CDK_OUTDIR, `${stack}.template.json`), 'utf8')) };
}

interface Template {
  readonly Resources: Readonly<
    Record<string, { Properties?: { FunctionName?: string; Environment?: { Variables: Record<string, unknown> } } }>
  >;
}

function environmentOf({ Resources }: Template, name: string): Record<string, unknown> | undefined {
  const found = Object.values(Resources).find(({ Properties }) => Properties?.FunctionName === name);
  return found?.Properties?.Environment?.Variables;
}

beforeAll(async () => {
  packed = await packAll(['millrace']);
  project = join(packed.folder, 'shop');
  await makeForeignProject(project, {
    'package.json': JSON.stringify({ name: 'shop', private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions: { module: 'preserve', paths: { '@/*': ['./src/*'] } } }),
    ...{
      'src/price.ts': `export enum Price { Low = 5 }\nexport const price = Price.Low;`,
      'jobs/send-invoice.ts': HANDLER,
    },
    ...{ 'cdk.mjs': APP, 'part.cjs': PART, 'production.mjs': PRODUCTION ?? '' },
  });
  await npm(project, 'install', '--offline', '--no-audit', '--no-fund', packed.files.millrace ?? '');
  await mkdir(join(project, 'node_modules'), { recursive: true });
  for (const name of ['esbuild', '@esbuild', 'aws-cdk-lib', '@aws-cdk', 'constructs', 'sharp', '@img']) {
    await symlink(join(MODULES, name), join(project, 'node_modules', name));
  }
});

afterAll(() => packed?.remove());

it('deploys the handlers of a project, which name its modules by a path alias', async () => {
  const { template } = await synthesise('cdk.mjs', 'millrace-dev', DEV);

  const functions = Object.values<{ Type: string; Properties: { FunctionName: string; Timeout: number } }>(
    template.Resources,
  ).filter(({ Type, Properties }) => Type === 'AWS::Lambda::Function' && Properties.FunctionName);
  expect(functions.map(({ Properties }) => Properties.FunctionName).sort()).toEqual([
    ...['millrace-dev-api', 'millrace-dev-dispatcher', 'millrace-dev-dlq-mirror', 'millrace-dev-migrate'],
    ...['millrace-dev-registry', 'millrace-dev-send_invoice'],
  ]);
  expect(Object.keys(template.Outputs)).toContain('Queues');
});

it('the bundles name sources by their paths in the project, and contain one copy of the package', async () => {
  const folder = join(project, 'cdk.mjs.out');
  const assets = (await readdir(folder)).filter((name) => name.startsWith('asset.'));
  const maps = await Promise.all(
    assets.map((name) => readFile(join(folder, name, 'index.mjs.map'), 'utf8').catch(() => '{"sources":[]}')),
  );
  const sources: string[] = maps.flatMap((map) => JSON.parse(map).sources);

  expect(sources).toContain('jobs/send-invoice.ts');
  expect(sources).toContain('src/price.ts');
  expect(sources.filter((source) => source.startsWith('../') || source.startsWith('/'))).toEqual([]);
});

it('is a part of the stack of another app, without outputs', async () => {
  const { stderr, template } = await synthesise('part.cjs', 'Shop');

  expect(stderr).not.toContain('Error');
  expect(template.Outputs).toBeUndefined();
  const variables = { MILLRACE_MAX_ATTEMPTS: '3', MILLRACE_RETRY_DELAY: '7' };
  expect(environmentOf(template, 'millrace-shop-send_invoice')).toMatchObject(variables);
  expect(environmentOf(template, 'millrace-shop-registry')).toMatchObject(variables);
  expect(JSON.stringify(template.Resources)).toContain('s3:GetObject*');
});

it('deploys the stage in docs/adopt.md: many handlers, an API with a domain, and alarms that notify', async () => {
  const { stderr, template } = await synthesise('production.mjs', 'Shop');

  expect(stderr).not.toContain('Error');
  const resources: { Type: string; Properties: Record<string, unknown> }[] = Object.values(template.Resources);
  const only = (type: string) => resources.filter(({ Type }) => Type === type).map(({ Properties }) => Properties);
  // A nested stack without a handler is not made, and the project has one handler.
  expect(only('AWS::CloudFormation::Stack')).toHaveLength(1);
  expect(only('AWS::ApiGatewayV2::Authorizer')).toMatchObject([
    { JwtConfiguration: { Issuer: 'https://login.example.com/', Audience: ['jobs'] } },
  ]);
  const [stage] = only('AWS::ApiGatewayV2::Stage');
  expect(stage).toMatchObject({ DefaultRouteSettings: { ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 } });
  expect(stage).not.toHaveProperty('AccessLogSettings');
  expect(only('AWS::ApiGatewayV2::DomainName')).toMatchObject([{ DomainName: 'jobs.example.com' }]);
  expect(JSON.stringify(only('AWS::Route53::RecordSet'))).toContain('RegionalDomainName');
  const [topic] = Object.keys(template.Resources).filter((id) => id.startsWith('Pager'));
  const page = only('AWS::CloudWatch::CompositeAlarm')[0];
  expect(page?.AlarmActions).toEqual([{ Ref: topic }]);
  expect(JSON.stringify(only('AWS::Events::ApiDestination'))).toContain('https://hooks.example.com/oncall');
});

it('applies the variables of the environment to the handlers, and names those without effect', async () => {
  const environment = { MILLRACE_MAX_ATTEMPTS: '3', MILLRACE_JOB_TIMEOUT_send_invoice: '40', MAX_RETRIES: '2' };

  const { template } = await synthesise('cdk.mjs', 'millrace-dev', DEV, environment);
  const { stderr } = await synthesise('cdk.mjs', 'millrace-dev', DEV, { MILLRACE_MAX_ATTEMPTS: 'many' });

  const { MAX_RETRIES, ...read } = environment;
  expect(environmentOf(template, 'millrace-dev-send_invoice')).toMatchObject(read);
  expect(environmentOf(template, 'millrace-dev-send_invoice')).not.toHaveProperty('MAX_RETRIES');
  const metadata = await readFile(join(project, 'cdk.mjs.out', 'millrace-dev.metadata.json'), 'utf8');
  expect(metadata).toContain('MAX_RETRIES has no effect: set MILLRACE_MAX_ATTEMPTS');
  expect(stderr).toContain('MILLRACE_MAX_ATTEMPTS');
});

it('refuses a schedule whose payload the schema refuses', async () => {
  const refusing = HANDLER.replace('send_invoice', 'remind').replace('nightly-invoices', 'nightly-reminders');
  await writeFile(
    join(project, 'jobs/remind.ts'),
    refusing.replace('(value: unknown) => ({ value })', `(_value: unknown) => ({ issues: [{ message: 'no' }] })`),
  );

  const { stderr } = await synthesise('cdk.mjs', 'millrace-dev', DEV);
  await rm(join(project, 'jobs/remind.ts'));

  expect(stderr).toContain('jobs/remind.ts: schedules.nightly-reminders.');
});

it('refuses a handler with native code that nativeModules does not list', async () => {
  const resize = HANDLER.replace('send_invoice', 'resize').replace('nightly-invoices', 'nightly-images');
  const sharp = resize.replace('@/price', 'sharp').replace('{ price }', 'price');
  await writeFile(join(project, 'jobs/resize.ts'), sharp);

  const { stderr } = await synthesise('cdk.mjs', 'millrace-dev', DEV);

  expect(stderr).toContain('jobs/resize.ts: nativeModules: sharp contains native code');
  // Node prints the line that threw, too.
  expect(stderr.length).toBeLessThan(3_000);
});
