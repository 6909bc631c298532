import { chmod, cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { launch, makeProject, type Project, whenUp } from '../support/project.ts';
import { untilJob } from '../support/stack-doors.ts';

const ROOT = resolve(import.meta.dirname, '../..');

it('npm start runs in a folder whose name has spaces and special characters', async () => {
  const outer = await mkdtemp(join(tmpdir(), 'millrace-outer-'));
  const folder = join(outer, 'my project é #1 100%');
  const plain = await makeProject();
  const project: Project = { ...plain, folder };
  onTestFinished(async () => {
    await plain.remove();
    await rm(outer, { recursive: true, force: true });
  });
  // Postgres, which refuses to run as root, requires access.
  await chmod(outer, 0o755);
  await mkdir(folder);
  for (const name of ['api', 'cli', 'core', 'functions', 'infra', 'local', 'migrations', 'package.json']) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));

  const stack = await whenUp(project, launch(project, [], { millrace: join(folder, 'cli', 'millrace.js') }));

  await untilJob(stack, '1', { status: 'succeeded' });
  await untilJob(stack, '2', { status: 'succeeded' });
  expect(await stack.stop()).toBe(0);
});
