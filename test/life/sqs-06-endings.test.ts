import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { findDeadMessage, insertJob, readDeadLetters, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

const ONE_SECOND = `timeout: '1s', maxAttempts: 1,`;

/** Ways in which a run can end without an answer, and what its job then says. */
const ENDINGS: Readonly<Record<string, { body: string; options?: string; error: RegExp }>> = {
  never_ends: { body: 'await new Promise(() => undefined);', error: /timed out after 1 s/ },
  waits_too_long: { body: 'await wait(60_000, undefined, { signal });', error: /timed out after 1 s/ },
  spins: { body: 'for (;;) undefined;', error: /lease expired/ },
  exits_well: { body: 'process.exit(0);', error: /lease expired/ },
  exits_badly: { body: 'process.exit(1);', error: /lease expired/ },
  exhausts_memory: {
    body: 'const all = []; for (;;) { all.push(Buffer.alloc(10_000_000, 1)); await wait(5); }',
    options: `timeout: '5s', maxAttempts: 1, memory: 128,`,
    error: /lease expired/,
  },
};

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  const bad = Object.entries(ENDINGS).map(([jobType, { body, options = ONE_SECOND }]) => {
    return [`${jobType.replaceAll('_', '-')}.ts`, handlerSource(jobType, body, options)];
  });
  project = await makeProject({ ...Object.fromEntries(bad), 'good.ts': handlerSource('good', 'return jobId;') });
  stack = await startUp(project, ['--fast-retries']);
});

afterAll(() => project.remove());

it('SQS-06 runs that never end, or end the process, fail alone and as the design says', async () => {
  const good = await Promise.all(Array.from({ length: 20 }, () => insertJob(stack, 'good', {})));
  const bad = await Promise.all(
    Object.keys(ENDINGS).map(async (jobType) => ({ jobType, id: await insertJob(stack, jobType, {}) })),
  );

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
  expect(stack.output()).toMatch(/spins +timed out after \d+ s and was killed/);
  expect(stack.output()).toMatch(/exhausts_memory +used more than its 128 MB and was killed/);
  expect(stack.output()).toMatch(/exits_badly +Runtime exited with error: exit status 1/);
}, 80_000);
