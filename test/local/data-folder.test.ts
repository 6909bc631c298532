import { spawn, spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { closeContents, openDataFolder } from '../../local/data-folder.ts';
import { startSqs } from '../../local/sqs/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
/** The expected mode. As root, the group of the account that runs Postgres can reach the data of Postgres. */
const MODE = isRoot ? 0o710 : 0o700;

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

it('the data folder is closed to other users when it is created', async () => {
  const project = await temporaryFolder();

  const data = await openDataFolder(project);

  expect(data).toBe(join(project, '.millrace'));
  expect(await modeOf(data)).toBe(MODE);
});

it.each([0o755, 0o777, 0o500])(
  'an existing data folder with the mode %o is closed to other users, and keeps its files',
  async (mode) => {
    const project = await temporaryFolder();
    await mkdir(join(project, '.millrace'));
    await writeFile(join(project, '.millrace', 'kept'), 'kept');
    await chmod(join(project, '.millrace'), mode);

    const data = await openDataFolder(project);

    expect(await modeOf(data)).toBe(MODE);
    expect(await readFile(join(data, 'kept'), 'utf8')).toBe('kept');
  },
);

it('everything in the data folder except what Postgres owns is closed, including what existed before', async () => {
  const data = await openDataFolder(await temporaryFolder());
  for (const folder of ['mail', 'postgres', 'postgres.libraries', 'cli']) {
    await mkdir(join(data, folder));
    await chmod(join(data, folder), 0o755);
  }
  for (const file of ['mail/1.eml', 'lock', 'sqs.sqlite-wal']) await writeFile(join(data, file), '', { mode: 0o644 });

  await closeContents(data);

  for (const folder of ['mail', 'files', 'bundles', 'cli']) expect(await modeOf(join(data, folder))).toBe(0o700);
  for (const file of ['lock', 'sqs.sqlite', 'sqs.sqlite-wal']) expect(await modeOf(join(data, file))).toBe(0o600);
  for (const open of ['postgres', 'postgres.libraries']) expect(await modeOf(join(data, open))).toBe(0o755);
});

it('the queues keep messages in a file that was created empty and closed', async () => {
  const data = await openDataFolder(await temporaryFolder());
  await closeContents(data);

  const server = await startSqs({ dataFile: join(data, 'sqs.sqlite') });
  await server.close();

  const files = (await readdir(data)).filter((name) => name.startsWith('sqs.sqlite'));
  for (const file of files) expect(await modeOf(join(data, file))).toBe(0o600);
});

const MODULE = new URL('../../local/data-folder.ts', import.meta.url).href;
const OPEN = `import { closeContents, openDataFolder } from ${JSON.stringify(MODULE)};
openDataFolder(process.argv[1]).then(console.log, (error) => console.log(error.message));`;

/** Returns the message of the error that another account gets when it opens the data folder of the project. */
async function openAsNobody(project: string): Promise<string> {
  const args = ['--input-type=module', '--eval', OPEN, project];
  const child = spawn(process.execPath, args, { uid: NOBODY, gid: NOBODY, stdio: ['ignore', 'pipe', 'inherit'] });
  return (await text(child.stdout)).trim();
}

describe.skipIf(!isRoot)(`after a start with sudo${isRoot ? '' : ' (not run: this account is not root)'}`, () => {
  it.each(['.millrace', '.millrace/lock'])(
    'the error names %s, which belongs to root, and states how to change its owner',
    async (path) => {
      const project = await temporaryFolder();
      await mkdir(join(project, '.millrace'));
      await writeFile(join(project, '.millrace/lock'), '');
      for (const own of ['.', '.millrace', '.millrace/lock']) await chown(join(project, own), NOBODY, NOBODY);
      await chown(join(project, path), 0, 0);

      const message = await openAsNobody(project);

      expect(message).toBe(
        `${join(project, path)} belongs to root, perhaps after a start with sudo: ` +
          `run sudo chown -R "$(id -u):$(id -g)" ${join(project, '.millrace')}, or delete it with sudo`,
      );
    },
  );

  it('the error names a project that belongs to root', async () => {
    const project = await temporaryFolder();

    const message = await openAsNobody(project);

    expect(message).toBe(
      `cannot create ${join(project, '.millrace')}: permission denied, ${project} belongs to root: ` +
        'start as that user, or change the owner',
    );
  });
});

/** Whether this process may mount, which some containers do not allow. */
const canMount = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
const notMounted = canMount ? '' : ' (not run: this account may not mount one)';

it.skipIf(!canMount)(`the error for a read-only file system states the cause${notMounted}`, async () => {
  const project = await temporaryFolder();
  const mount = `mount -t tmpfs -o ro none ${project} && exec "$@"`;
  const args = ['-m', 'sh', '-c', mount, 'sh', process.execPath, '--input-type=module', '--eval', OPEN, project];
  const child = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'ignore'] });

  const message = (await text(child.stdout)).trim();

  expect(message).toBe(
    `cannot create ${join(project, '.millrace')}: the file system is read-only: ` +
      'move the project to a writable file system',
  );
});
