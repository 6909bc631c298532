import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

/** On a loaded machine bundling is slow. */
const RELOAD_MS = 60_000;

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({ 'steady.ts': handlerSource('steady', `return 'first';`) });
  stack = await startUp(project);
});

afterAll(() => project.remove());

it('a handler is reloaded while the import of another file hangs, and that file when it is mended', async () => {
  await hang();
  await project.writeHandler('steady.ts', handlerSource('steady', `return 'second';`));

  await eventually(() => expect(stack.output()).toContain('steady was reloaded'), { timeout: RELOAD_MS });

  await expectSuccess('steady', 'second');
  expect(stack.output()).not.toContain('its import waits');
  await project.writeHandler('hangs.ts', handlerSource('hangs', `return 'mended';`));
  await expectSuccess('hangs', 'mended');
});

it('the stack stops while the import of a file hangs', async () => {
  await hang();
  await project.writeHandler('steady.ts', handlerSource('steady', `return 'third';`));
  await eventually(() => expect(stack.output().split('steady was reloaded')).toHaveLength(3), { timeout: RELOAD_MS });

  expect(await stack.stop()).toBe(0);
  expect(stack.output()).not.toContain('its import waits');
});

async function hang(): Promise<void> {
  const source = handlerSource('hangs', 'return 1;');
  await project.writeHandler('hangs.ts', `setInterval(() => 1, 10);\nawait new Promise(() => undefined);\n${source}`);
}

async function expectSuccess(jobType: string, result: unknown): Promise<void> {
  const id = await insertJob(stack, jobType, {});
  await untilJob(stack, id, { status: 'succeeded', result });
}
