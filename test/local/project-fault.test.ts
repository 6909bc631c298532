import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { projectFault } from '../../local/project-fault.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it("a stack does not start with Yarn's Plug'n'Play, and the reason states what to change", async () => {
  const { versions } = process;
  Object.defineProperty(process, 'versions', { value: { ...versions, pnp: '3' } });
  onTestFinished(() => void Object.defineProperty(process, 'versions', { value: versions }));
  const folder = await temporaryFolder();

  expect(projectFault(folder, folder)).toContain('add the line `nodeLinker: node-modules` to .yarnrc.yml');
});

it('a stack does not start with one handler file in place of their folder', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'charge-card.ts');
  await writeFile(file, '');

  expect(projectFault(folder, file)).toBe(`${file} is a file: name the folder that contains it`);
  expect(projectFault(folder, join(folder, 'jobs'))).toBe(`no folder ${folder}/jobs`);
});
