import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadCatalog } from '../../core/catalog/catalog.ts';
import { openProbe } from '../../core/catalog/probe.ts';
import { planHandler } from '../../infra/plan/handler-plan.ts';
import { openChildren } from '../../local/processes/children.ts';
import { EXISTING, synthesise } from '../infra/synthesise.ts';
import { NOT_KEPT, NOT_MADE, REFUSED, supported, type Template } from './limits.ts';
import { type Made, readBack } from './made.ts';
import { startMoto } from './moto.ts';

const STAGE = 'moto';
const STACK = `millrace-${STAGE}`;
const ROOT = resolve(import.meta.dirname, '../..');

// Sets every option that the two handlers of the product leave at its default.
const UNUSUAL = `
import { z } from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';
export default defineHandler({
  jobType: 'index_record', routingKey: 'vector', payload: z.object({}), timeout: '100s', memory: 1024, concurrency: 7,
  batch: { size: 50, window: '20s' }, run: async () => undefined,
});`;

const folder = await mkdtemp(join(tmpdir(), 'millrace-moto-'));
const children = openChildren();
afterAll(async () => {
  await children.close();
  await rm(folder, { recursive: true, force: true });
});
const handlers = await makeHandlersFolder();
const moto = await startMoto(children, folder);
const bootstrapping = moto.cdk('bootstrap', moto.account);
bootstrapping.catch(() => undefined);
// moto has no protection of stacks; without it, the stage would have no monitoring by default.
const monitored = { protect: 'off', alarms: 'on', dashboard: 'on', metricsByJobType: 'on' };
const { app, stack } = await synthesise({ ...EXISTING, ...monitored, stage: STAGE, handlers });
const assembly = app.synth().directory;
const templateFile = join(assembly, stack.templateFile);
const whole = JSON.parse(await readFile(templateFile, 'utf8')) as Template;
const plans = (await loadCatalog(handlers, openProbe())).handlers.map((entry) => planHandler(STAGE, entry));
const made = await deploy();

it('moto creates every resource of the template except the listed ones', () => {
  const wanted = Object.entries(supported(whole).Resources).map(([name, { Type }]) => [name, Type] as const);
  const types = new Set(wanted.map(([, type]) => type));

  const missing = wanted.filter(([name, type]) => made.resources[name] !== type);

  expect(made.status).toBe('CREATE_COMPLETE');
  expect([...new Set(missing.map(([, type]) => type))].sort()).toEqual(NOT_MADE);
  expect(missing).toHaveLength(wanted.filter(([, type]) => NOT_MADE.includes(type)).length);
  expect([...types]).toEqual(expect.arrayContaining([...NOT_MADE]));
  const count = Object.keys(made.resources).length;
  console.log(
    `moto ${made.version} created the template: ${count} resources for ${plans.length} handlers; ${missing.length} not created`,
  );
});

it.each(REFUSED)('moto still refuses $type', async ({ type, answer }) => {
  const name = `${STACK}again${REFUSED.findIndex((one) => one.type === type)}`;
  const template = JSON.stringify(supported(whole, type)).replaceAll(`${STACK}-`, `${name}-`);
  const before = (await moto.log()).length;

  const answered = await moto.python('create-stack.py', [name], template).catch(String);

  expect(`${answered}\n${(await moto.log()).slice(before)}`).toContain(answer);
});

it.each(NOT_KEPT)('moto still loses $what', ({ lost }) => {
  expect(lost(made)).toBe(true);
});

it('each function has a log group with a retention of 30 days', () => {
  const retentions = Object.keys(made.functions)
    .filter((name) => name.startsWith(`${STACK}-`) && !name.includes('StepProvider'))
    .map((name) => [name, made.logGroups[`/aws/lambda/${name}`]?.retentionInDays]);

  expect(retentions).toHaveLength(plans.length + 5);
  expect(retentions.filter(([, days]) => days !== 30)).toEqual([]);
});

describe.each(plans)('handler $name', (plan) => {
  it('has a queue with the planned attributes', () => {
    expect(made.queues[plan.queueName]).toMatchObject({
      VisibilityTimeout: String(plan.visibilityTimeout),
      MessageRetentionPeriod: String(plan.retention),
      SqsManagedSseEnabled: 'true',
    });
    expect(JSON.parse(made.queues[plan.queueName]?.RedrivePolicy ?? 'null')).toEqual({
      deadLetterTargetArn: arnOf(plan.deadLetterQueueName),
      maxReceiveCount: plan.maxReceiveCount,
    });
  });

  it('has a dead-letter queue with the planned attributes', () => {
    expect(made.queues[plan.deadLetterQueueName]).toMatchObject({
      QueueArn: arnOf(plan.deadLetterQueueName),
      MessageRetentionPeriod: String(plan.deadLetterRetention),
      SqsManagedSseEnabled: 'true',
    });
    expect(made.queues[plan.deadLetterQueueName]).not.toHaveProperty('RedrivePolicy');
  });

  it('has a function with the planned settings and code', () => {
    expect(made.functions[plan.queueName]).toMatchObject({
      Runtime: 'nodejs24.x',
      Handler: 'index.handler',
      Timeout: plan.functionTimeout,
      MemorySize: plan.memoryMb,
      Environment: {
        Variables: { MILLRACE_STAGE: STAGE, MILLRACE_QUEUE_URL: expect.stringContaining(plan.queueName) },
      },
      CodeSize: expect.toSatisfy((bytes: number) => bytes > 100_000),
    });
  });

  it('has one mapping with the planned settings', () => {
    const mappings = made.mappings.filter(({ FunctionArn }) => FunctionArn.endsWith(`:function:${plan.queueName}`));

    expect(mappings).toEqual([
      expect.objectContaining({
        EventSourceArn: arnOf(plan.queueName),
        BatchSize: plan.batchSize,
        ...(plan.batchWindow > 0 && { MaximumBatchingWindowInSeconds: plan.batchWindow }),
        ScalingConfig: { MaximumConcurrency: plan.concurrency },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        State: 'Enabled',
      }),
    ]);
  });

  it('has a role for its own log, secret and queue only', () => {
    const { Role } = made.functions[plan.queueName] ?? { Role: 'none' };
    const policies = Object.values(made.roles[Role]?.policies ?? {});
    const resources = policies.flatMap((policy) =>
      typeof policy === 'string' ? policy.match(/arn:[^'"]+/g) : policy.Statement.map(({ Resource }) => Resource),
    );

    expect(resources).toEqual([
      `arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/${plan.queueName}`,
      EXISTING.databaseRuntimeSecret,
      arnOf(plan.queueName),
    ]);
  });
});

function arnOf(queue: string): string {
  return `arn:aws:sqs:us-east-1:123456789012:${queue}`;
}

/** Copies the handlers of the product and adds one, in a folder with the same import paths. */
async function makeHandlersFolder(): Promise<string> {
  const clone = join(folder, 'clone');
  const made = join(clone, 'functions', 'handlers');
  await mkdir(clone);
  await cp(join(ROOT, 'functions'), join(clone, 'functions'), { recursive: true });
  for (const name of ['core', 'node_modules', 'package.json']) await symlink(join(ROOT, name), join(clone, name));
  await writeFile(join(made, 'index-record.vector.ts'), UNUSUAL);
  return made;
}

/** Runs `cdk deploy` with the template of the synth without the resources that moto refuses. */
async function deploy(): Promise<Made> {
  await writeFile(templateFile, JSON.stringify(supported(whole)));
  await bootstrapping;
  await moto.cdk('deploy', STACK, '--require-approval=never', '--app', assembly);
  return readBack(moto, STACK);
}
