import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { enableMapping, openSqs } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

/** On a loaded machine a command is slow. */
const PATIENCE = { timeout: 60_000 };

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({ 'steady.ts': handlerSource('steady', `return 'done';`) });
  stack = await startUp(project);
});
afterAll(() => project.remove());

/** Returns the checks of the deployment, each with its verdict. */
async function deployed(): Promise<{ code: number | null; lines: string[] }> {
  const { code, stdout } = await runCli(['doctor'], { cwd: project.folder });
  const checks = /\t(registry|code|queues|dead-letter queues|functions|mappings|other functions)\t/;
  return { code, lines: stdout.split('\n').filter((line) => checks.test(line)) };
}

it('doctor passes for a running stack, and reports changed settings of a queue and a mapping', async () => {
  const before = await deployed();
  const sqs = openSqs(stack);
  const { queueUrl: QueueUrl } = stack.state.handlers.find(({ jobType }) => jobType === 'steady')!;
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout: '7' } }));
  sqs.destroy();
  await enableMapping(stack, 'steady', false);

  const after = await eventually(async () => {
    const found = await deployed();
    expect(found.lines.join()).toContain('the mapping is Disabled, but Enabled in the code');
    return found;
  }, PATIENCE);

  expect(before.lines).toHaveLength(7);
  expect(before.lines.filter((line) => !line.startsWith('OK'))).toEqual([]);
  expect(after.lines.filter((line) => line.startsWith('FAIL'))).toEqual([
    expect.stringMatching(/^FAIL\tqueues\tmillrace-local-steady: the visibility timeout is 7, but 240 in the code: /),
    expect.stringMatching(/^FAIL\tmappings\tmillrace-local-steady: the mapping is Disabled, but Enabled in the code: /),
  ]);
  expect(after.code).toBe(8);
});
