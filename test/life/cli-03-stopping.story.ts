import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectNoProcess, expectNothingLeft, processesOf } from '../support/processes.ts';
import { launch, makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { insertJob, readJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

/** Above the time within which two signals count as one request to stop. */
const APART_MS = 400;
const PATIENCE_MS = 600_000;

let project: Project;
let stack: RunningStack;
let lost: string;
let finished: string;
let cutOff: string;

beforeAll(async () => {
  const slow = handlerSource('slow', 'await wait(1_500, undefined, { signal });', `timeout: '60s',`);
  // Longer than the time that the dispatcher and the API have to finish.
  const long = handlerSource('long', 'await wait(45_000, undefined, { signal });', `timeout: '5m', maxAttempts: 1,`);
  project = await makeProject({ 'slow.ts': slow, 'long.ts': long });
  stack = await startUp(project, ['--fast-retries']);
});

afterAll(() => project.remove());

it(
  'CLI-03 kill -9 leaves no process and no port open after a few seconds',
  async () => {
    lost = await runningJob();

    await stack.stop('SIGKILL');

    await expectNothingLeft(project.folder, stack.state);
  },
  PATIENCE_MS,
);

it(
  'CLI-03 Ctrl-C during the start leaves no process',
  async () => {
    const launched = launch(project, ['--fast-retries']);
    await eventually(async () => expect((await processesOf(project.folder)).length).toBeGreaterThan(2), {
      timeout: 60_000,
    });

    launched.process.kill('SIGINT');

    expect(await launched.exited).toBe(130);
    await expectNoProcess(project.folder);
  },
  PATIENCE_MS,
);

it(
  'CLI-03 Ctrl-C waits for a running job',
  async () => {
    stack = await startUp(project, ['--fast-retries']);
    expect(await readJob(stack, lost)).toMatchObject({ status: 'running', attempts: 1 });
    finished = await runningJob();

    const code = await stack.stop();

    expect(code).toBe(0);
    expect(stack.output()).toMatch(/slow \d+ +succeeded/);
    expect(stack.output()).toMatch(/^\d\d:\d\d:\d\dZ {2}stopping: SIG[A-Z]+; waiting for running jobs/m);
    await expectNothingLeft(project.folder, stack.state);
  },
  PATIENCE_MS,
);

it(
  'CLI-03 a second Ctrl-C stops without waiting for a running job',
  async () => {
    stack = await startUp(project, ['--fast-retries']);
    await untilJob(stack, finished, { status: 'succeeded', attempts: 1 });
    cutOff = await runningJob('long');

    stack.process.kill('SIGINT');
    await wait(APART_MS);
    const code = await stack.stop();

    expect(code).toBe(130);
    expect(stack.output()).not.toMatch(/slow \d+ +succeeded/);
    expect(stack.output()).not.toMatch(/died; restarting it/);
    await expectNothingLeft(project.folder, stack.state);
  },
  PATIENCE_MS,
);

it(
  'CLI-03 a job that a second Ctrl-C ended runs again at the next start and uses no attempt, and a stop waits for it',
  async () => {
    stack = await startUp(project, ['--fast-retries']);
    await untilJob(stack, cutOff, { status: 'running', attempts: 1 });
    const outcomes = await stack.query('select outcome, error_name from millrace.job_attempts where job_id = $1', [
      cutOff,
    ]);

    const code = await stack.stop('SIGTERM');

    expect(outcomes).toEqual([{ outcome: 'snoozed', error_name: 'Interrupted' }]);
    expect(code).toBe(0);
    expect(stack.output()).toMatch(
      new RegExp(`^waiting for long ${cutOff}, at most [45]m .*; Ctrl-C again ends it now`, 'm'),
    );
    expect(stack.output()).toMatch(new RegExp(`long ${cutOff} +succeeded +attempt 1`));
  },
  PATIENCE_MS,
);

async function runningJob(jobType = 'slow'): Promise<string> {
  const id = await insertJob(stack, jobType, {});
  await untilJob(stack, id, { status: 'running' });
  return id;
}
