import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { buildSync } from 'esbuild';
import { afterAll } from 'vitest';
import { timingOf } from '../../core/handler/timing.ts';
import { bundleEnvironment, bundleOptions } from '../../infra/bundle/options.ts';
import { startSqs } from '../../local/sqs/server.ts';
import { openRunner } from '../local/lambda/runner-fixture.ts';
import { openDatabaseEngine } from '../support/database-engine.ts';
import unruly from './unruly-handler.ts';

const root = new URL('../../', import.meta.url).pathname;
export const engine = await openDatabaseEngine({ timeout: `${unruly.timeoutSeconds}s` });
const sqs = await startSqs();
export const runner = await openRunner(sqs.endpoint);
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
export async function runBatch(jobs: readonly Job[]) {
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
