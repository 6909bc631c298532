import { chmod, chown, lchown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findAbove } from '../../local/find-above.ts';
import { describeHolder, findHiddenStack } from '../../local/lock-holder.ts';
import { findState } from '../../local/state.ts';
import { UntrustedError } from '../../local/trust.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const DAEMON = 1;
const asRoot = it.skipIf(process.getuid?.() !== 0);

/** Creates a folder with files, by path to content, and returns it. */
async function tree(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

describe('findAbove', () => {
  it('returns the nearest match, in a folder or above it', async () => {
    const folder = await tree({ 'functions/handlers/a.ts': '', 'src/deep/x': '' });

    const found = findAbove(join(folder, 'src/deep'), 'functions/handlers');

    expect(found).toEqual({ folder, path: join(folder, 'functions/handlers'), isProject: false });
  });

  it.each(['package.json', '.git/HEAD'])('does not search above a project root with %s', async (root) => {
    const folder = await tree({ 'functions/handlers/a.ts': '', [`inner/${root}`]: '', 'inner/src/x': '' });

    expect(findAbove(join(folder, 'inner/src'), 'functions/handlers')).toBeUndefined();
    expect(findAbove(join(folder, 'inner'), 'functions/handlers')).toBeUndefined();
    expect(findAbove(folder, 'functions/handlers')).toBeDefined();
  });

  it('returns a match in the project root itself', async () => {
    const folder = await tree({ 'package.json': '', '.millrace/dev.json': '{}', 'src/x': '' });

    expect(findAbove(join(folder, 'src'), '.millrace/dev.json')).toMatchObject({ folder, isProject: true });
  });

  it.each(['functions', 'functions/handlers'])('refuses %s that every user can change', async (open) => {
    const folder = await tree({ 'functions/handlers/a.ts': '', 'victim/x': '' });
    await chmod(join(folder, open), 0o777);

    const find = () => findAbove(join(folder, 'victim'), 'functions/handlers');

    expect(find).toThrow(UntrustedError);
    expect(find).toThrow(`every user can change ${join(folder, open)}, so it is not used: run chmod o-w`);
  });

  it('prints a command that a shell runs on a path with spaces', async () => {
    const folder = await tree({ 'it is mine/functions/handlers/a.ts': '', 'it is mine/x': '' });
    const project = join(folder, 'it is mine');
    await chmod(join(project, 'functions'), 0o777);

    const find = () => findAbove(project, 'functions/handlers');

    expect(find).toThrow(`run chmod o-w '${join(project, 'functions')}'`);
  });

  asRoot.each(['functions', 'functions/handlers'])('refuses %s of another user', async (foreign) => {
    const folder = await tree({ 'functions/handlers/a.ts': '', 'victim/x': '' });
    await chown(join(folder, foreign), DAEMON, DAEMON);

    const find = () => findAbove(join(folder, 'victim'), 'functions/handlers');

    expect(find).toThrow(`${join(folder, foreign)} belongs to daemon, so it is not used: run as daemon, or change its`);
  });

  asRoot('refuses the link of another user, even to a folder of this one', async () => {
    const folder = await tree({ 'other/handlers/a.ts': '', 'victim/x': '' });
    await symlink('other', join(folder, 'functions'));
    await lchown(join(folder, 'functions'), DAEMON, DAEMON);

    expect(() => findAbove(join(folder, 'victim'), 'functions/handlers')).toThrow(/functions belongs to daemon/);
  });

  asRoot('does not refuse a folder of another user without a match', async () => {
    const folder = await tree({ 'functions/x': '', 'victim/x': '' });
    await chown(join(folder, 'functions'), DAEMON, DAEMON);

    expect(findAbove(join(folder, 'victim'), 'functions/handlers')).toBeUndefined();
  });
});

describe('the state of a stack', () => {
  const PLANTED = JSON.stringify({ pid: 1, processStart: 'x', databaseUrl: 'postgres://evil', handlers: [] });

  it('is not read from a file that every user can change', async () => {
    const folder = await tree({ '.millrace/dev.json': PLANTED, 'victim/x': '' });
    await chmod(join(folder, '.millrace/dev.json'), 0o666);

    await expect(findState(join(folder, 'victim'))).rejects.toThrow(/every user can change .*dev\.json/);
  });

  it('is not read from above the root of the project', async () => {
    const folder = await tree({ '.millrace/dev.json': PLANTED, 'victim/package.json': '' });

    expect(await findState(join(folder, 'victim'))).toBeUndefined();
  });

  asRoot('is not read from a file of another user, nor is its lock', async () => {
    const folder = await tree({ '.millrace/dev.json': PLANTED, '.millrace/lock': '', 'victim/x': '' });
    for (const name of ['dev.json', 'lock']) await chown(join(folder, '.millrace', name), DAEMON, DAEMON);

    await expect(findState(join(folder, 'victim'))).rejects.toThrow(/dev\.json belongs to daemon/);
    expect(() => findHiddenStack(join(folder, 'victim'))).toThrow(/lock belongs to daemon/);
    expect(describeHolder(folder)).toBeUndefined();
  });
});
