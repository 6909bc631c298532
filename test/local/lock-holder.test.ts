import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { describeHolder, findHiddenStack, lockPath } from '../../local/lock-holder.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const LOCK = pathToFileURL(join(import.meta.dirname, '../../local/folder-lock.ts')).href;
const HOLD = `
  import { lockFolder } from '${LOCK}';
  globalThis.lock = await lockFolder(process.argv[1]);
  console.log('held');
  setInterval(() => undefined, 1000);`;

/** Locks a project in another process. */
async function holdLock(project: string) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', HOLD, lockPath(project)]);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

it('a lock holder is described with its process and how to stop it, from any folder of the project', async () => {
  const project = join(await temporaryFolder(), "a 'b' #é?");
  await mkdir(join(project, 'deep'), { recursive: true });
  const { pid } = await holdLock(project);

  const described = describeHolder(project);

  expect(described).toContain(`in ${project} as process ${pid}, `);
  expect(described).toContain(`stop it with \`kill ${pid}\`, then run npx millrace dev`);
  expect(findHiddenStack(join(project, 'deep'))).toBe(described);
});

it('no holder is described once the process has ended, however it ended', async () => {
  const project = await temporaryFolder();
  const child = await holdLock(project);

  child.kill('SIGKILL');

  await eventually(async () => expect(describeHolder(project)).toBeUndefined());
});

it('the description follows the holder when another process takes the lock', async () => {
  const project = await temporaryFolder();
  const first = await holdLock(project);
  first.kill('SIGKILL');
  await once(first, 'exit');

  const second = await holdLock(project);

  expect(describeHolder(project)).toContain(`process ${second.pid}, `);
});

it('a folder without a lock has no holder', async () => {
  const project = await temporaryFolder();

  expect(describeHolder(project)).toBeUndefined();
  expect(findHiddenStack(project)).toBeUndefined();
});
