import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Variables } from '../../../core/handler/variables.ts';
import { openHandlers } from '../../../local/functions/deployed-handlers.ts';
import type { BundledHandler, ReadFile, ReadingHandlers } from '../../../local/functions/handler-bundles.ts';
import type { FunctionSpec } from '../../../local/lambda/specs.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const engine = await openDatabaseEngine();
const BROKEN = 'functions/handlers/b.ts:3: SettingError: b: retry: expected a policy';

type Files = Readonly<Record<string, ReadFile | Promise<ReadFile>>>;

/** Handlers on a runner and an SQS that accept everything. */
async function open(variables: () => Variables = () => ({})) {
  const project = await temporaryFolder();
  const bundle = join(project, 'index.mjs');
  await writeFile(bundle, '');
  const lines: string[] = [];
  const specs: FunctionSpec[] = [];
  const inApi: string[][] = [];
  const stop = new AbortController();
  const api = async (handlers: readonly BundledHandler[]) => void inApi.push(handlers.map(({ name }) => name));
  const handlers = openHandlers({
    ...{ project, retryFactor: 1, db: engine.db, stop: stop.signal },
    settings: async () => ({ environment: { SMTP_URL: 'smtp://x' }, variables: variables() }),
    bundling: { again: () => Promise.reject(new Error('not used')), api },
    api: { deploy: async () => undefined },
    runner: {
      addFunction: (spec: FunctionSpec) => specs.push(spec),
      replaceFunction: (spec: FunctionSpec) => specs.push(spec),
      addMapping() {},
      removeFunction() {},
    } as never,
    sqs: { send: async () => ({ QueueUrl: 'http://sqs/q', Attributes: { QueueArn: 'arn:aws:sqs:x:0:q' } }) } as never,
    printLine: (line) => lines.push(line),
  });
  const handler = (name: string, more: Partial<BundledHandler> = {}): BundledHandler => {
    const definition = { ...engine.definition, jobType: name };
    return { definition, bundle, name, file: bundle, functionName: `millrace-local-${name}`, isNew: true, ...more };
  };
  const unchanged = (name: string) => handler(name, { isNew: false });
  /** A version of the handler with other code. */
  const changed = async (name: string) => {
    const other = join(project, `${name}.mjs`);
    await writeFile(other, '1');
    return handler(name, { bundle: other });
  };
  const sync = (files: Files) => handlers.sync(undefined, readingOf(files));
  return { handlers, lines, specs, inApi, stop, handler, unchanged, changed, sync };
}

function readingOf(files: Files): ReadingHandlers {
  const entries = Object.entries(files).map(([name, file]) => [name, Promise.resolve(file)] as const);
  return { files: new Map(entries), misplaced: [] };
}

async function registered(): Promise<string[]> {
  const rows = await engine.sql<{ job_type: string }>('select job_type from millrace.handlers order by 1');
  return rows.map((row) => row.job_type);
}

it('registers a file that was saved beside a broken one, and forgets the complaint when that one is good', async () => {
  const { handlers, lines, handler, sync } = await open();

  await sync({ a: handler('a'), b: BROKEN });
  expect(await registered()).toEqual(['a']);
  expect(handlers.complaints()).toEqual([BROKEN]);

  await sync({ a: handler('a'), b: BROKEN, c: handler('c') });
  expect(await registered()).toEqual(['a', 'c']);

  await sync({ a: handler('a'), b: handler('b'), c: handler('c') });
  expect(await registered()).toEqual(['a', 'b', 'c']);
  expect(handlers.complaints()).toEqual([]);
  expect(lines).toEqual([BROKEN, 'c was added', 'b was added']);
});

it('keeps the last good version of a file that is broken now', async () => {
  const { handlers, handler, sync } = await open();
  await sync({ a: handler('a'), b: handler('b') });

  await sync({ a: handler('a'), b: BROKEN });

  expect(await registered()).toEqual(['a', 'b']);
  expect(handlers.list().map(({ definition }) => definition.jobType)).toEqual(['a', 'b']);
});

it('reloads, adds and removes files while another file is still being read', async () => {
  const { lines, inApi, handler, unchanged, changed, sync } = await open();
  await sync({ slow: handler('slow'), fast: handler('fast'), old: handler('old') });
  const slow = Promise.withResolvers<ReadFile>();

  const first = sync({
    slow: slow.promise,
    fast: await changed('fast'),
    added: handler('added'),
    old: unchanged('old'),
  });
  await expect.poll(() => lines.toSorted()).toEqual(['added was added', 'fast was reloaded']);
  const second = sync({ slow: slow.promise, fast: unchanged('fast'), added: unchanged('added') });
  await expect.poll(() => lines.at(-1)).toBe('old was removed; its jobs stay in the database');

  expect(await registered()).toEqual(['added', 'fast', 'slow']);
  slow.resolve(await changed('slow'));
  await Promise.all([first, second]);
  expect(lines.filter((line) => line === 'slow was reloaded')).toHaveLength(1);
  expect(inApi.at(-1)?.toSorted()).toEqual(['added', 'fast', 'slow']);
});

it('does not let the API import a file that is still being read', async () => {
  const { inApi, handler, changed, sync } = await open();
  await sync({ slow: handler('slow'), fast: handler('fast') });
  const slow = Promise.withResolvers<ReadFile>();

  const syncing = sync({ slow: slow.promise, fast: await changed('fast') });
  await expect.poll(() => inApi).toEqual([['fast']]);
  slow.resolve('functions/handlers/slow.ts: its import waits for something that does not happen');
  await syncing;

  expect(inApi.at(-1)).toEqual(['fast']);
});

it('uses the newest version of a file that is saved again while its old version is being read', async () => {
  const { handlers, lines, handler, changed, sync } = await open();
  await sync({ a: handler('a') });
  const old = Promise.withResolvers<ReadFile>();

  const first = sync({ a: old.promise });
  await sync({ a: await changed('a') });
  old.resolve('functions/handlers/a.ts: was saved again while it was imported');
  await first;

  expect(lines).toEqual(['a was reloaded']);
  expect(handlers.complaints()).toEqual([]);
});

it('stops without waiting for a file that is still being read', async () => {
  const { lines, stop, handler, sync } = await open();
  await sync({ a: handler('a') });

  const syncing = sync({ a: new Promise<ReadFile>(() => undefined) });
  stop.abort();
  await syncing;

  expect(lines).toEqual([]);
});

it('deploys handlers with their variables, and again when a variable changes', async () => {
  let variables: Variables = { MILLRACE_RETRY_DELAY_a: '7', MILLRACE_JOB_TIMEOUT_a: '60', MILLRACE_STAGE: 'x' };
  const { handlers, specs, handler, sync } = await open(() => variables);
  const rows = () =>
    engine.sql("select max_attempts, timeout_seconds, retry_policy->>'delay' as delay from millrace.handlers");

  await sync({ a: handler('a') });
  const before = await rows();
  variables = { MILLRACE_MAX_ATTEMPTS_a: '9' };
  await sync({ a: handler('a') });

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
  const { specs, handler, sync } = await open(() => variables);
  await sync({ a: handler('a'), b: handler('b') });
  variables = { MILLRACE_RETRY_DELAY_b: 'soon' };

  const syncing = sync({ b: handler('b'), c: handler('c') });

  await expect(syncing).rejects.toThrow('MILLRACE_RETRY_DELAY_b: expected a duration');
  expect(await registered()).toEqual(['a', 'b']);
  expect(specs).toHaveLength(2);
});

it('prints each variable without effect once', async () => {
  const variables = { MAX_RETRIES: '3', MILLRACE_MAX_ATTEMPTS_broken: '2', MILLRACE_FOO: '1' };
  const { lines, handler, sync } = await open(() => variables);

  await sync({ a: handler('a') });
  await sync({ a: handler('a'), broken: BROKEN });

  expect(lines).toEqual([
    'MAX_RETRIES has no effect: set MILLRACE_MAX_ATTEMPTS, which counts the first attempt too',
    'MILLRACE_FOO has no effect: Millrace reads no such variable',
    'MILLRACE_MAX_ATTEMPTS_broken has no effect: no handler has this name',
    BROKEN,
  ]);
});
