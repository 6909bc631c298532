import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ListFunctionsCommand } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readState } from '../../local/state.ts';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { findDeadMessage, insertJob, openLambda, readDeadLetters, untilJob } from '../support/stack-doors.ts';
import { ENDINGS, endingSources } from './endings.ts';
import { handlerSource } from './sources.ts';

const SYNTAX_ERROR = `${handlerSource('broken_syntax', 'return 1;')}\nconst = 3;\n`;
const THROWS = `import '../../core/handler/handler.ts';\n\nthrow new Error('no such luck');\n`;
const WRONG_NAME = handlerSource('other_name', 'return 1;');

/** On a loaded machine bundling is slow. */
const RELOAD_MS = 20_000;

let project: Project;
let stack: RunningStack;
let good: string[];
let bad: { jobType: string; id: string }[];

beforeAll(async () => {
  project = await makeProject({
    ...endingSources(),
    'refuses.ts': handlerSource('refuses', `throw new Error('no');`, 'maxAttempts: 1,'),
    'good.ts': handlerSource('good', 'return jobId;'),
    'steady.ts': handlerSource('steady', `return 'first';`),
    'broken-syntax.ts': SYNTAX_ERROR,
    'throws.ts': THROWS,
    'wrong-name.ts': WRONG_NAME,
    'no-export.ts': 'export const nothing = 1;\n',
    'wrong-retry.ts': handlerSource('wrong_retry', 'return 1;', 'retry: 3 as never,'),
    'missing-import.ts': `import { nothing } from './not-there.ts';\nexport default nothing;\n`,
    'fails-later.ts': `void Promise.reject(new Error('not awaited'));\nsetInterval(() => undefined, 1_000);\n`,
  });
  await writeFile(join(project.folder, '.env'), 'STORY_KEY=of-the-handlers\n');
  stack = await startUp(project, ['--fast-retries']);
  // The bad jobs end when their leases expire; the other tests run meanwhile.
  good = await Promise.all(Array.from({ length: 20 }, () => insertJob(stack, 'good', {})));
  bad = await Promise.all(
    Object.keys(ENDINGS).map(async (jobType) => ({ jobType, id: await insertJob(stack, jobType, {}) })),
  );
});

afterAll(() => project.remove());

it('npm start skips broken handler files, and names each with its line and reason', async () => {
  const output = stack.output();

  expect(output).toMatch(/functions\/handlers\/throws\.ts:3: Error: no such luck/);
  expect(output).toMatch(/functions\/handlers\/broken-syntax\.ts:\d+: Expected identifier/);
  expect(output).toMatch(/functions\/handlers\/wrong-name\.ts: defines other_name: rename the file to other-name\.ts/);
  expect(output).toMatch(/functions\/handlers\/no-export\.ts: has no default export/);
  expect(output).toMatch(
    /functions\/handlers\/wrong-retry\.ts:\d+: SettingError: wrong_retry: retry: expected a policy/,
  );
  expect(output).toMatch(/not loaded: functions\/handlers\/wrong-retry\.ts:\d+: .*; correct it and save it again\n/);
  expect(output).toMatch(/functions\/handlers\/missing-import\.ts:1: .*not-there/);
  expect(output).toMatch(/fails-later\.ts:1/);
  expect(output).toMatch(
    /Handlers +blocks_in_native_code, crashes, exhausts_memory, exits_badly,\s+exits_well, good, is_killed, never_ends, refuses, spins, steady,\s+waits_too_long\n/,
  );
  await expectSuccess('steady', 'first');
});

it('the next job runs the code that was saved', async () => {
  await project.writeHandler('steady.ts', handlerSource('steady', `return 'second';`));
  await eventually(() => expect(stack.output()).toContain('steady was reloaded'), { timeout: RELOAD_MS });

  await expectSuccess('steady', 'second');
});

it('a save that replaces the file reloads the handler', async () => {
  const draft = join(project.folder, 'draft.ts');
  const own = join(project.folder, 'functions', 'handlers', 'steady.ts');
  await project.writeHandler('../../draft.ts', handlerSource('steady', `return 'third';`, `timeout: '2s',`));
  await rename(draft, own);

  await eventually(() => expect(stack.output().split('steady was reloaded')).toHaveLength(3), { timeout: RELOAD_MS });

  await expectSuccess('steady', 'third');
  const [row] = await stack.query(`select timeout_seconds from millrace.handlers where job_type = 'steady'`);
  expect(row).toEqual({ timeout_seconds: 2 });
});

it('jobs run the last working code while the saved file is broken', async () => {
  await project.writeHandler(
    'steady.ts',
    `${handlerSource('steady', `return 'fourth';`)}\nthrow new Error('half done');`,
  );
  await eventually(() => expect(stack.output()).toMatch(/steady\.ts:\d+: Error: half done/), { timeout: RELOAD_MS });

  await expectSuccess('steady', 'third');
});

it('a new file becomes a handler with a queue, and a removed file stops being one', async () => {
  const waiting = await insertJob(stack, 'newcomer', {});
  await project.writeHandler('newcomer.ts', handlerSource('newcomer', `return 'hello';`));
  await untilJob(stack, waiting, { status: 'succeeded', result: 'hello' });
  expect(await jobTypes()).toContain('newcomer');

  await project.removeHandler('newcomer.ts');
  await eventually(async () => expect(await jobTypes()).not.toContain('newcomer'), { timeout: RELOAD_MS });

  expect(stack.output()).toContain('newcomer was removed; its jobs stay in the database');
  const registered = await stack.query(`select from millrace.handlers where job_type = 'newcomer'`);
  expect(registered).toEqual([]);
});

it('functions do not inherit the environment of npm start', async () => {
  await project.writeHandler('environment.ts', handlerSource('environment', 'return Object.keys(process.env);'));
  const id = await insertJob(stack, 'environment', {});

  const { result } = await untilJob(stack, id, { status: 'succeeded' });

  expect(result).toContain('DATABASE_URL');
  expect(result).not.toContain('HOME');
  expect((result as string[]).filter((name) => /^(npm_|VITEST)/.test(name))).toEqual([]);
});

it('a saved .env file applies to the next job', async () => {
  await project.writeHandler('greets.ts', handlerSource('greets', 'return process.env.GREETING;'));
  const before = await insertJob(stack, 'greets', {});
  await untilJob(stack, before, { status: 'succeeded', result: null });

  await writeFile(join(project.folder, '.env'), 'STORY_KEY=of-the-handlers\nGREETING=hello\n');
  await eventually(() => expect(stack.output()).toContain('greets was reloaded'), { timeout: RELOAD_MS });
  const after = await insertJob(stack, 'greets', {});

  await untilJob(stack, after, { status: 'succeeded', result: 'hello' });
});

it('WEB-05 npm start prints no password and no payload', async () => {
  const id = await insertJob(stack, 'refuses', {
    password: 'hunter2',
    authorization: 'Bearer hunter2',
    card: 'hunter2',
  });
  await untilJob(stack, id, { status: 'dead_letter' });
  const owner = new URL(stack.state.databaseUrl).password;
  const lambda = openLambda(stack);
  const { Functions } = await lambda.send(new ListFunctionsCommand({}));
  lambda.destroy();
  const urls = Functions!.map(({ Environment }) => new URL(Environment!.Variables!.DATABASE_URL!));
  const runtime = new Set(urls.map(({ password }) => password));

  expect(runtime.size).toBe(1);
  for (const secret of [owner, ...runtime, 'hunter2']) expect(stack.output()).not.toContain(secret);
});

it('only handlers receive the variables of .env', async () => {
  const lambda = openLambda(stack);
  const { Functions } = await lambda.send(new ListFunctionsCommand({}));
  lambda.destroy();

  const having = Functions!.filter(({ Environment }) => Environment!.Variables!.STORY_KEY === 'of-the-handlers');
  const without = Functions!.filter((entry) => !having.includes(entry)).map(({ FunctionName }) => FunctionName);

  expect(having.map(({ FunctionName }) => FunctionName)).toContain('millrace-local-good');
  expect(without.toSorted()).toEqual(['millrace-local-api', 'millrace-local-dispatcher', 'millrace-local-dlq-mirror']);
  expect(stack.output()).toContain(`other users on this machine can read ${join(project.folder, '.env')}`);
});

it('SQS-06 a run that never ends, or that ends the process, fails without other jobs', async () => {
  for (const id of good) await untilJob(stack, id, { status: 'succeeded', attempts: 1, result: id });
  for (const { id } of bad) await untilJob(stack, id, { status: 'dead_letter', attempts: 1 }, 45_000);

  for (const { jobType, id } of bad) {
    const [letter, ...others] = await readDeadLetters(stack, id);
    expect(letter?.last_error, jobType).toMatch(ENDINGS[jobType]?.error as RegExp);
    expect(others).toEqual([]);
  }
  for (const jobType of ['never_ends', 'waits_too_long']) {
    const { id } = bad.find((job) => job.jobType === jobType) as { id: string };
    const message = await findDeadMessage(stack, jobType, id);
    expect(message.Attributes?.DeadLetterQueueSourceArn).toContain(`millrace-local-${jobType}`);
  }
  expect(stack.output()).toMatch(/blocks_in_native_code +timed out after \d+ s and was killed/);
  expect(stack.output()).toMatch(/exhausts_memory +used more than its 128 MB and was killed/);
  expect(stack.output()).toMatch(/exits_badly +Runtime exited with error: exit status 1/);
});

it('npm start ends although a handler file left a timer running', async () => {
  expect(await stack.stop()).toBe(0);
  expect(await readdir(join(project.folder, '.millrace'))).not.toContain('dev.json');
});

async function expectSuccess(jobType: string, result: unknown): Promise<void> {
  const id = await insertJob(stack, jobType, {});
  await untilJob(stack, id, { status: 'succeeded', result });
}

async function jobTypes(): Promise<string[]> {
  const state = await readState(project.folder);
  return state?.handlers.map(({ jobType }) => jobType).sort() ?? [];
}
