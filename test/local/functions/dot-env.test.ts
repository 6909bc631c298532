import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readDotEnv } from '../../../local/functions/dot-env.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function read(mode: number, text: string) {
  const project = await temporaryFolder();
  await writeFile(join(project, '.env'), text);
  await chmod(join(project, '.env'), mode);
  const lines: string[] = [];
  return { variables: await readDotEnv(project, (line) => lines.push(line)), lines, path: join(project, '.env') };
}

it('the variables are those of the file, without empty ones', async () => {
  const { variables, lines } = await read(0o600, 'KEY="a b"\n# no\nEMPTY=\nexport OTHER=1\n');

  expect(variables).toEqual({ KEY: 'a b', OTHER: '1' });
  expect(lines).toEqual([]);
});

it.each([0o644, 0o640, 0o604])(
  'a file with the mode %o is read with a warning, since others can read it',
  async (mode) => {
    const { variables, lines, path } = await read(mode, 'KEY=value');

    expect(variables).toEqual({ KEY: 'value' });
    expect(lines).toEqual([`other users of this machine can read ${path}: run chmod 600 .env`]);
  },
);

it('a project without the file, or with a folder of that name, has no variables', async () => {
  const [without, withFolder] = [await temporaryFolder(), await temporaryFolder()];
  await mkdir(join(withFolder, '.env'));

  expect(await readDotEnv(without, expect.unreachable)).toEqual({});
  expect(await readDotEnv(withFolder, expect.unreachable)).toEqual({});
});
