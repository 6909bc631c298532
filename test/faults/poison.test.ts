import { afterAll, beforeAll, expect, it } from 'vitest';
import { enqueueLoad, FRAGILE, untilOthersAreDone } from '../life/poison-story.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { readDeadLetters, untilJob } from '../support/stack-doors.ts';

const JOBS = 400;
const ATTEMPTS = 4;

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({ 'fragile.ts': FRAGILE });
  stack = await startUp(project, ['--fast-retries']);
});

afterAll(async () => {
  await stack.stop().catch(() => undefined);
  await project.remove();
});

it('three kinds of poison jobs among new jobs die, and every other job succeeds', async () => {
  const kinds = { 15: 'kill', 17: 'exit', 120: 'spin' } as const;
  const poison = await enqueueLoad(stack, { jobs: JOBS, poison: kinds, attempts: ATTEMPTS });

  for (const id of poison) await untilJob(stack, id, { status: 'dead_letter', attempts: ATTEMPTS }, 300_000);
  const others = await untilOthersAreDone(stack, poison);

  expect(poison).toHaveLength(3);
  expect(others.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  expect(others).toHaveLength(JOBS - 3);
  const byAttempts = Object.groupBy(others, ({ attempts }) => attempts);
  console.log('jobs by attempts', Object.fromEntries(Object.entries(byAttempts).map(([n, jobs]) => [n, jobs?.length])));
  expect(others.filter(({ attempts }) => attempts > 2)).toEqual([]);
  for (const id of poison) {
    expect(await readDeadLetters(stack, id)).toMatchObject([{ status: 'open' }]);
  }
});
