import { existsSync, statSync } from 'node:fs';
import { chmod, chown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compileCache } from '../../cli/compile-cache.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startCli } from './start-cli.ts';

const NAME = `millrace-compile-cache-${process.getuid?.()}`;
const FOREIGN = 65_534;
const isRoot = process.getuid?.() === 0;

async function sharedFolder(): Promise<string> {
  const folder = await temporaryFolder();
  await chmod(folder, 0o1777);
  return folder;
}

describe('compiled code', () => {
  it('is read from a folder of the account, and not from the one that all accounts share', async () => {
    const shared = await sharedFolder();

    const { code } = await startCli(['--version'], { env: { TMPDIR: shared } }).ended;

    expect(code).toBe(0);
    expect(existsSync(join(shared, 'node-compile-cache'))).toBe(false);
    expect(statSync(join(shared, NAME)).mode & 0o777).toBe(0o700);
    expect(compileCache(shared)).toBe(join(shared, NAME));
  });

  it.each<[string, (folder: string) => Promise<void>]>([
    [
      'a folder of another account',
      async (folder) => {
        await mkdir(folder, { mode: 0o700 });
        await chown(folder, FOREIGN, FOREIGN);
      },
    ],
    [
      'a link to a folder that another account controls',
      async (folder) => {
        await mkdir(`${folder}-target`, { mode: 0o700 });
        await symlink(`${folder}-target`, folder);
      },
    ],
    [
      'a folder that every user can change',
      async (folder) => {
        await mkdir(folder);
        await chmod(folder, 0o777);
      },
    ],
    ['a file', (folder) => writeFile(folder, '')],
  ])('is not read from %s', async (what, plant) => {
    if (what.includes('of another account') && !isRoot) return;
    const shared = await sharedFolder();
    await plant(join(shared, NAME));

    expect(compileCache(shared)).toBeUndefined();
  });

  it('is not kept where every account can replace the folder, or where no folder can be created', async () => {
    const open = await temporaryFolder();
    await chmod(open, 0o777);

    expect(compileCache(open)).toBeUndefined();
    expect(compileCache(join(open, 'missing'))).toBeUndefined();
    if (!isRoot) return;
    const theirs = await sharedFolder();
    await chown(theirs, FOREIGN, FOREIGN);
    expect(compileCache(theirs)).toBeUndefined();
  });
});
