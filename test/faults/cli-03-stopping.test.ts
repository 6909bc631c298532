import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { handlerSource } from '../life/sources.ts';
import { eventually } from '../support/eventually.ts';
import { expectNothingLeft, processesOf } from '../support/processes.ts';
import { launch, makeProject, type Project, startUp, whenUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';

/** Above the time within which two signals count as one request to stop. */
const APART_MS = 400;

let project: Project;

beforeEach(async () => {
  project = await makeProject({ 'slow.ts': handlerSource('slow', 'await wait(2_000, undefined, { signal });') });
});

afterEach(() => project.remove());

describe('CLI-03 stopping the stack', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s waits for a running job and leaves no process',
    async (signal) => {
      const stack = await startUp(project);
      const id = await insertJob(stack, 'slow', {});
      await untilJob(stack, id, { status: 'running' });

      const code = await stack.stop(signal);

      expect(code).toBe(0);
      expect(stack.output()).toMatch(/slow 1 +succeeded/);
      await expectNothingLeft(project.folder, stack.state);
      const again = await startUp(project);
      await untilJob(again, id, { status: 'succeeded', attempts: 1 });
    },
  );

  it('by Ctrl-C twice leaves no process, and the running job runs again later', async () => {
    const stack = await startUp(project);
    const id = await insertJob(stack, 'slow', {});
    await untilJob(stack, id, { status: 'running' });

    stack.process.kill('SIGINT');
    await wait(APART_MS);
    const code = await stack.stop();

    expect(code).toBe(130);
    await expectNothingLeft(project.folder, stack.state);
    const again = await startUp(project);
    await untilJob(again, id, { status: 'running', attempts: 1 });
  });

  it('by closing the terminal, which sends several signals, waits for a running job', async () => {
    const stack = await startUp(project);
    const id = await insertJob(stack, 'slow', {});
    await untilJob(stack, id, { status: 'running' });

    stack.process.stdout?.destroy();
    stack.process.stderr?.destroy();
    stack.process.kill('SIGHUP');
    await wait(APART_MS);
    const code = await stack.stop('SIGTERM');

    expect(code).toBe(0);
    await expectNothingLeft(project.folder, stack.state);
    await untilJob(await startUp(project), id, { status: 'succeeded', attempts: 1 });
  });

  it('by closing the pipe of its output leaves no process', async () => {
    const stack = await startUp(project);

    stack.process.stdout?.destroy();
    await insertJob(stack, 'slow', {});

    await eventually(() => expect(stack.process.exitCode).toBe(0));
    await expectNothingLeft(project.folder, stack.state);
  });

  it.each([100, 700, 1_500, 2_500])(
    'by Ctrl-C %i ms after its start leaves no process, and it starts again',
    async (ms) => {
      const launched = launch(project);
      await wait(ms);
      launched.process.kill('SIGINT');

      const code = await launched.exited;

      // Before it listens for signals, the system ends it; once it is up, it drains.
      expect([null, 130, 0]).toContain(code);
      await eventually(async () => expect(await processesOf(project.folder)).toEqual([]));
      const stack = await whenUp(project, launch(project));
      await untilJob(stack, await insertJob(stack, 'slow', {}), { status: 'succeeded' });
    },
  );

  it('by kill -9 leaves no process, and LSE-01 the job runs again when its lease expires', async () => {
    const stack = await startUp(project, ['--fast-retries']);
    const id = await insertJob(stack, 'slow', {});
    await untilJob(stack, id, { status: 'running' });

    await stack.stop('SIGKILL');

    await expectNothingLeft(project.folder, stack.state);
    const again = await startUp(project, ['--fast-retries']);
    await untilJob(again, id, { status: 'running', attempts: 1 });
    await untilJob(again, id, { status: 'succeeded', attempts: 2 }, 300_000);
    const failed = await again.query('select outcome, error_name from millrace.job_attempts where job_id = $1', [id]);
    expect(failed).toEqual([{ outcome: 'failed', error_name: 'LeaseExpired' }]);
  });
});
