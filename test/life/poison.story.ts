import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { readDeadLetters, untilJob } from '../support/stack-doors.ts';
import { enqueueLoad, FRAGILE, untilOthersAreDone } from './poison-story.ts';

const JOBS = 200;
const ATTEMPTS = 2;

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({ 'fragile.ts': FRAGILE });
  stack = await startUp(project, ['--fast-retries']);
});

afterAll(() => project.remove());

it('a job that kills its process dies alone, and every other job loses at most one attempt', async () => {
  // In the middle of the first half: it starts with nine other jobs while other batches run.
  const [poison = ''] = await enqueueLoad(stack, { jobs: JOBS, poison: { 55: 'kill' }, attempts: ATTEMPTS });

  const { last_error } = await untilJob(stack, poison, { status: 'dead_letter', attempts: ATTEMPTS }, 90_000);
  const others = await untilOthersAreDone(stack, [poison]);

  expect(others.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  expect(others).toHaveLength(JOBS - 1);
  expect(others.filter(({ attempts }) => attempts > 2)).toEqual([]);
  // The jobs in the process of the first crash; without one the test would prove nothing.
  const dragged = others.filter(({ attempts }) => attempts === 2).length;
  expect(dragged).toBeGreaterThanOrEqual(1);
  expect(dragged).toBeLessThanOrEqual(9);
  expect(last_error).toMatch(/^its process was killed \(SIGKILL\)/);
  expect(await readDeadLetters(stack, poison)).toMatchObject([{ status: 'open' }]);
  expect(stack.output().split('Runtime exited with error: signal: killed')).toHaveLength(ATTEMPTS + 1);
});
