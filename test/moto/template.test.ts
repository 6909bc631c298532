import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadCatalog } from '../../core/handler/catalog.ts';
import { planHandler } from '../../infra/plan/handler-plan.ts';
import { openChildren } from '../../local/processes/children.ts';
import { EXISTING, synthesise } from '../infra/synthesise.ts';
import { NOT_KEPT, NOT_MADE, REFUSED, type Template, takeable } from './limits.ts';
import { type Made, readBack } from './made.ts';
import { startMoto } from './moto.ts';

const STAGE = 'moto';
const STACK = `millrace-${STAGE}`;
const ROOT = resolve(import.meta.dirname, '../..');

// With a number of its own wherever the two of the product have the usual one.
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
const { app, stack } = await synthesise({ ...EXISTING, stage: STAGE, handlers });
const assembly = app.synth().directory;
const templateFile = join(assembly, stack.templateFile);
const whole = JSON.parse(await readFile(templateFile, 'utf8')) as Template;
const plans = (await loadCatalog(handlers)).handlers.map((entry) => planHandler(STAGE, entry));
const made = await deploy();

it('takes the template, with nothing missing but what is listed', () => {
  const wanted = Object.entries(takeable(whole).Resources).map(([name, { Type }]) => [name, Type] as const);
  const types = new Set(wanted.map(([, type]) => type));

  const missing = wanted.filter(([name, type]) => made.resources[name] !== type);

  expect(made.status).toBe('CREATE_COMPLETE');
  expect([...new Set(missing.map(([, type]) => type))].sort()).toEqual(NOT_MADE);
  expect(missing).toHaveLength(wanted.filter(([, type]) => NOT_MADE.includes(type)).length);
  expect([...types]).toEqual(expect.arrayContaining([...NOT_MADE]));
  const count = Object.keys(made.resources).length;
  console.log(
    `moto ${made.version} took the template: ${count} resources of ${plans.length} handlers; ${missing.length} it does not make`,
  );
});

it.each(REFUSED)('refuses $type still', async ({ type, answer }) => {
  const name = `${STACK}again${REFUSED.findIndex((one) => one.type === type)}`;
  const template = JSON.stringify(takeable(whole, type)).replaceAll(`${STACK}-`, `${name}-`);
  const before = (await moto.log()).length;

  const said = await moto.python('create-stack.py', [name], template).catch(String);

  expect(`${said}\n${(await moto.log()).slice(before)}`).toContain(answer);
});

it.each(NOT_KEPT)('loses still: $what', ({ lost }) => {
  expect(lost(made)).toBe(true);
});

it('makes a log group that ends for each function', () => {
  const retentions = Object.keys(made.functions)
    .filter((name) => name.startsWith(`${STACK}-`) && !name.includes('AWSCDK'))
    .map((name) => [name, made.logGroups[`/aws/lambda/${name}`]?.retentionInDays]);

  expect(retentions).toHaveLength(plans.length + 5);
  expect(retentions.filter(([, days]) => days !== 30)).toEqual([]);
});

describe.each(plans)('handler $name', (plan) => {
  it('has its queue', () => {
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

  it('has its dead-letter queue', () => {
    expect(made.queues[plan.deadLetterQueueName]).toMatchObject({
      QueueArn: arnOf(plan.deadLetterQueueName),
      MessageRetentionPeriod: String(plan.deadLetterRetention),
      SqsManagedSseEnabled: 'true',
    });
    expect(made.queues[plan.deadLetterQueueName]).not.toHaveProperty('RedrivePolicy');
  });

  it('has its function, with code', () => {
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

  it('has one mapping', () => {
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

  it('has a role for its own log, secret and queue, and for nothing else', () => {
    const { Role } = made.functions[plan.queueName] ?? { Role: 'none' };
    const policies = Object.values(made.roles[Role]?.policies ?? {});
    const resources = policies.flatMap((policy) =>
      typeof policy === 'string' ? [policy] : policy.Statement.map(({ Resource }) => Resource),
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

/** Those of the product and one more, in a folder from which they import as from their own. */
async function makeHandlersFolder(): Promise<string> {
  const clone = join(folder, 'clone');
  const made = join(clone, 'functions', 'handlers');
  await mkdir(clone);
  await cp(join(ROOT, 'functions'), join(clone, 'functions'), { recursive: true });
  for (const name of ['core', 'node_modules', 'package.json']) await symlink(join(ROOT, name), join(clone, name));
  await writeFile(join(made, 'index-record.vector.ts'), UNUSUAL);
  return made;
}

/** The real commands, with what moto refuses taken out between synth and deploy. */
async function deploy(): Promise<Made> {
  await writeFile(templateFile, JSON.stringify(takeable(whole)));
  await bootstrapping;
  await moto.cdk('deploy', STACK, '--require-approval=never', '--app', assembly);
  return readBack(moto, STACK);
}
