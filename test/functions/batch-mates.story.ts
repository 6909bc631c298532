import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { buildSync } from 'esbuild';
import { afterAll, expect, it } from 'vitest';
import { timingOf } from '../../core/handler/timing.ts';
import { bundleEnvironment, bundleOptions } from '../../infra/bundle/options.ts';
import { startSqs } from '../../local/sqs/server.ts';
import { state } from '../local/lambda/process-state.ts';
import { openRunner } from '../local/lambda/runner-fixture.ts';
import { openDatabaseEngine } from '../support/database-engine.ts';
import { eventually } from '../support/eventually.ts';
import unruly from './unruly-handler.ts';

const root = new URL('../../', import.meta.url).pathname;
const engine = await openDatabaseEngine({ timeout: `${unruly.timeoutSeconds}s` });
const sqs = await startSqs();
const runner = await openRunner(sqs.endpoint);
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const lambda = new LambdaClient({ endpoint: runner.runner.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
const folder = await mkdtemp(join(tmpdir(), 'batch-mates-'));
const outfile = join(folder, 'index.mjs');
buildSync({
  ...bundleOptions([], import.meta.filename),
  entryPoints: [join(root, 'functions/handler.ts')],
  alias: { '#handler': join(root, 'test/functions/unruly-handler.ts') },
  outfile,
});
runner.runner.addFunction({
  ...{ name: 'work', bundle: outfile, timeoutSeconds: timingOf(unruly).functionTimeout, memoryMb: 256 },
  environment: {
    ...bundleEnvironment,
    ...{ DATABASE_URL: engine.database.url, MILLRACE_QUEUE_URL: 'http://127.0.0.1:1/000000000000/work' },
  },
});
afterAll(async () => {
  await runner.close();
  await sqs.close();
  await rm(folder, { recursive: true });
});

interface Job {
  readonly deed: string;
  readonly afterMs?: number;
}

/** Runs these jobs as one batch of a deployed bundle; returns the response and the error of the invocation. */
async function runBatch(jobs: readonly Job[]) {
  const ids: string[] = [];
  for (const payload of jobs) ids.push(await engine.enqueue({ payload }));
  await engine.dispatch();
  const Records = engine.queues.receive('memory://work', jobs.length);
  const answer = await lambda.send(new InvokeCommand({ FunctionName: 'work', Payload: JSON.stringify({ Records }) }));
  const states = () => Promise.all(ids.map((id) => engine.state(id)));
  const errors = await Promise.all(ids.map((id) => errorOf(id)));
  const names = errors.map((one) => one?.name);
  const stacks = errors.map((one) => one?.stack);
  return { states, names, stacks, error: answer.FunctionError, text: answer.Payload?.transformToString() ?? '' };
}

async function errorOf(id: string) {
  const [row] = await engine.sql<{ name: string; stack: string | null }>(
    'select error_name as name, error_stacktrace as stack from millrace.job_attempts where job_id = $1',
    [id],
  );
  return row;
}

const done = { status: 'succeeded', attempts: 1 };
const spared = { status: 'pending', attempts: 0, suspect: false };

it.each([
  ['enters an endless loop', 'loop', 0],
  ['enters an endless loop after it has waited', 'loop', 1_500],
  ['evaluates an endless regular expression', 'regex', 200],
  ['creates an endless chain of promises', 'microtasks', 200],
])('fails the attempt of a job that %s, but of no other job of the batch', async (_what, deed, afterMs) => {
  const { states, names, stacks, error, text } = await runBatch([
    { deed: 'end', afterMs: 100 },
    { deed: 'wait' },
    { deed, afterMs },
    { deed: 'wait' },
  ]);

  expect(error, text).toBe('Unhandled');
  expect(await states()).toMatchObject([
    afterMs > 100 ? done : spared,
    spared,
    {
      ...{ status: 'failed', attempts: 1, suspect: true },
      last_error: expect.stringMatching(/^timed out after 3 s: it blocked the event loop for \d+ s$/),
    },
    spared,
  ]);
  expect(names[2]).toBe('TimedOut');
  expect(stacks[2]?.split('\n').slice(1, 3).join()).toContain('unruly-handler.ts');
});

it.each([
  ['enters an endless loop', 'loop', 0],
  ['evaluates an endless regular expression after it has waited', 'regex', 200],
  ['creates an endless chain of promises', 'microtasks', 200],
])('fails the attempt of a job that is alone in its batch and %s, with its stack', async (_what, deed, afterMs) => {
  const { states, names, stacks } = await runBatch([{ deed, afterMs }]);

  expect(await states()).toMatchObject([
    {
      ...{ status: 'failed', attempts: 1, suspect: true },
      last_error: expect.stringMatching(/^timed out after 3 s: it blocked the event loop for \d+ s$/),
    },
  ]);
  expect(names).toEqual(['TimedOut']);
  expect(stacks[0]?.split('\n').slice(1, 3).join()).toContain('unruly-handler.ts');
});

it.each([
  ['calls process.exit', 'exit', 'process.exit(3) was called'],
  ['calls process.abort', 'abort', 'process.abort() was called'],
  ['has a rejection that no code awaits', 'reject', 'not awaited'],
])('fails the attempt of a job that is alone in its batch and %s', async (_what, deed, message) => {
  const { states } = await runBatch([{ deed, afterMs: 100 }]);

  expect(await states()).toMatchObject([{ status: 'failed', attempts: 1, suspect: true, last_error: message }]);
});

it.each([
  ['has a rejection that no code awaits', 'reject', 'not awaited'],
  ['throws where no code catches', 'throw', 'not caught'],
  ['calls process.exit', 'exit', 'process.exit(3) was called'],
  ['calls process.abort', 'abort', 'process.abort() was called'],
])('fails the attempt of a job that %s, but of no other job of the batch', async (_what, deed, message) => {
  const { states, error } = await runBatch([
    { deed: 'end' },
    { deed: 'wait' },
    { deed, afterMs: 300 },
    { deed: 'wait' },
  ]);

  expect(error).toBe('Unhandled');
  expect(await states()).toMatchObject([
    done,
    spared,
    { status: 'failed', attempts: 1, suspect: true, last_error: message },
    spared,
  ]);
});

it.each([
  ['a killed process', 'kill'],
  ['native code that does not return', 'native'],
])('%s uses an attempt of every job that had not ended at least one second earlier', async (_what, deed) => {
  const { states } = await runBatch([{ deed: 'end' }, { deed: 'wait' }, { deed, afterMs: 2_500 }]);
  await engine.advance(3600);
  await engine.rescue();

  const lost = {
    status: 'failed',
    attempts: 1,
    suspect: true,
    last_error: expect.stringMatching(/^its process did not report back within \d+ s: /),
  };
  expect(await states()).toMatchObject([done, lost, lost]);
});

it('a job that is busy past its timeout but returns succeeds, and the other jobs of the batch continue', async () => {
  const { states, error } = await runBatch([
    { deed: 'end', afterMs: 100 },
    { deed: 'busyPastTimeout' },
    { deed: 'end' },
  ]);

  expect(error).toBeUndefined();
  expect(await states()).toMatchObject([done, done, done]);
});

/** In a process that was frozen for longer than this, jobs appear overdue and the thread appears blocked. */
const FROZEN_MS = 8_000;

it('a process that is frozen between two batches is not treated as blocked', async () => {
  await runBatch([{ deed: 'end' }, { deed: 'end' }]);
  const frozen = runner.runner.environments('work');
  await wait(FROZEN_MS);

  const { states, error } = await runBatch([{ deed: 'end', afterMs: 2_000 }, { deed: 'end' }]);

  expect(error).toBeUndefined();
  expect(await states()).toMatchObject([done, done]);
  expect(runner.runner.environments('work')).toEqual(frozen);
});

it('a process that is frozen while jobs run is not treated as blocked', async () => {
  const running = runBatch([
    { deed: 'end', afterMs: 2_000 },
    { deed: 'stop', afterMs: 1_000 },
  ]);
  // Until the jobs run, the environment of the earlier tests is stopped as well.
  await eventually(async () => {
    expect(await engine.sql(`select from millrace.jobs where status = 'running'`)).toHaveLength(2);
  });
  const pid = await eventually(() => {
    const found = runner.runner.environments('work').find((one) => state(one) === 'T');
    expect(found).toBeDefined();
    return found as number;
  });
  await wait(FROZEN_MS);
  process.kill(pid, 'SIGCONT');
  const { states, error } = await running;

  expect(error).toBeUndefined();
  expect(await states()).toMatchObject([done, done]);
});
