import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { HandlerDefinition } from '../../../core/handler/handler.ts';
import type { Variables } from '../../../core/handler/variables.ts';
import { openHandlers } from '../../../local/functions/deployed-handlers.ts';
import type { BundledHandler, HandlerBundles } from '../../../local/functions/handler-bundles.ts';
import type { FunctionSpec } from '../../../local/lambda/specs.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const engine = await openDatabaseEngine();
const BROKEN = 'functions/handlers/b.ts:3: SettingError: b: retry: expected a policy';

/** Handlers on a runner and an SQS that accept everything. */
async function open(variables: () => Variables = () => ({})) {
  const project = await temporaryFolder();
  const bundle = join(project, 'index.mjs');
  await writeFile(bundle, '');
  const lines: string[] = [];
  const specs: FunctionSpec[] = [];
  const handlers = openHandlers({
    ...{ project, retryFactor: 1, db: engine.db },
    settings: async () => ({ environment: { SMTP_URL: 'smtp://x' }, variables: variables() }),
    bundle: () => Promise.reject(new Error('not used')),
    runner: {
      addFunction: (spec: FunctionSpec) => specs.push(spec),
      replaceFunction: (spec: FunctionSpec) => specs.push(spec),
      addMapping() {},
      removeFunction() {},
    } as never,
    sqs: { send: async () => ({ QueueUrl: 'http://sqs/q', Attributes: { QueueArn: 'arn:aws:sqs:x:0:q' } }) } as never,
    printLine: (line) => lines.push(line),
  });
  const bundled = (names: readonly string[], complaints: readonly string[]): HandlerBundles => ({
    handlers: names.map((jobType) => bundledHandler({ ...engine.definition, jobType }, bundle)),
    complaints,
    present: new Set(['a', 'b', 'c']),
  });
  return { handlers, lines, specs, bundled };
}

function bundledHandler(definition: HandlerDefinition, bundle: string): BundledHandler {
  return {
    definition,
    bundle,
    name: definition.jobType,
    file: bundle,
    functionName: `millrace-local-${definition.jobType}`,
  };
}

async function registered(): Promise<string[]> {
  const rows = await engine.sql<{ job_type: string }>('select job_type from millrace.handlers order by 1');
  return rows.map((row) => row.job_type);
}

it('registers a file that was saved beside a broken one, and forgets the complaint when that one is good', async () => {
  const { handlers, lines, bundled } = await open();

  await handlers.sync(bundled(['a'], [BROKEN]));
  expect(await registered()).toEqual(['a']);
  expect(handlers.complaints()).toEqual([BROKEN]);

  await handlers.sync(bundled(['a', 'c'], [BROKEN]));
  expect(await registered()).toEqual(['a', 'c']);

  await handlers.sync(bundled(['a', 'b', 'c'], []));
  expect(await registered()).toEqual(['a', 'b', 'c']);
  expect(handlers.complaints()).toEqual([]);
  expect(lines).toEqual([BROKEN, 'c was added', 'b was added']);
});

it('keeps the last good version of a file that is broken now', async () => {
  const { handlers, bundled } = await open();
  await handlers.sync(bundled(['a', 'b'], []));

  await handlers.sync(bundled(['a'], [BROKEN]));

  expect(await registered()).toEqual(['a', 'b']);
  expect(handlers.list().map(({ definition }) => definition.jobType)).toEqual(['a', 'b']);
});

it('deploys handlers with their variables, and again when a variable changes', async () => {
  let variables: Variables = { MILLRACE_RETRY_DELAY_a: '7', MILLRACE_JOB_TIMEOUT_a: '60', MILLRACE_STAGE: 'x' };
  const { handlers, specs, bundled } = await open(() => variables);
  const rows = () =>
    engine.sql("select max_attempts, timeout_seconds, retry_policy->>'delay' as delay from millrace.handlers");

  await handlers.sync(bundled(['a'], []));
  const before = await rows();
  variables = { MILLRACE_MAX_ATTEMPTS_a: '9' };
  await handlers.sync(bundled(['a'], []));

  expect(before).toMatchObject([{ timeout_seconds: 60, delay: '7' }]);
  expect(await rows()).toMatchObject([{ max_attempts: 9, timeout_seconds: engine.definition.timeoutSeconds }]);
  expect(handlers.variables()).toEqual(variables);
  expect(specs.map(({ timeoutSeconds, environment }) => [timeoutSeconds, environment.SMTP_URL])).toEqual([
    [70, 'smtp://x'],
    [engine.definition.timeoutSeconds + 10, 'smtp://x'],
  ]);
  expect(specs.map(({ environment }) => environment)).toMatchObject([{ MILLRACE_JOB_TIMEOUT_a: '60' }, variables]);
  expect(specs[0]!.environment).not.toHaveProperty('MILLRACE_STAGE');
});

it('changes nothing when a variable has an invalid value', async () => {
  let variables: Variables = {};
  const { handlers, specs, bundled } = await open(() => variables);
  await handlers.sync(bundled(['a', 'b'], []));
  variables = { MILLRACE_RETRY_DELAY_b: 'soon' };

  const sync = handlers.sync(bundled(['a'], []));

  await expect(sync).resolves.toBeUndefined();
  await expect(handlers.sync(bundled(['a', 'b', 'c'], []))).rejects.toThrow(
    'MILLRACE_RETRY_DELAY_b: expected a duration',
  );
  expect(await registered()).toEqual(['a', 'b']);
  expect(specs).toHaveLength(2);
});

it('prints each variable without effect once', async () => {
  const variables = {
    MAX_RETRIES: '3',
    MILLRACE_MAX_ATTEMPTS_broken: '2',
    MILLRACE_MAX_ATTEMPTS_c: '2',
    MILLRACE_FOO: '1',
  };
  const { handlers, lines, bundled } = await open(() => variables);

  await handlers.sync(bundled(['a'], []));
  await handlers.sync(bundled(['a'], []));

  expect(lines).toEqual([
    'MAX_RETRIES has no effect: set MILLRACE_MAX_ATTEMPTS, which counts the first attempt too',
    'MILLRACE_FOO has no effect: Millrace reads no such variable',
    'MILLRACE_MAX_ATTEMPTS_broken has no effect: no handler has this name',
  ]);
});
