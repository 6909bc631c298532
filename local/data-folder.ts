import { constants } from 'node:fs';
import { access, appendFile, chmod, chown, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { accountName } from './ownership.ts';
import { chooseOwner } from './postgres/owner.ts';

/** Returns the path of the folder with the data of a project's stack. */
export function dataPath(project: string): string {
  return join(project, '.millrace');
}

/**
 * Creates the data folder of a project, or prepares an existing one. The folder contains payloads, emails and the
 * database password, so only the current user can open it. If this process runs as root, the group of the account that
 * runs Postgres can also open it, because the folder contains the data of Postgres.
 * @throws Error that names the path, the reason and what to do
 */
export async function openDataFolder(project: string): Promise<string> {
  const data = dataPath(project);
  // Not recursive: with `recursive`, Node reports a missing folder for a read-only file system.
  await mkdir(data, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST')
      throw new Error(`cannot create ${data}: ${await reasonOf(error, project)}`, { cause: error });
  });
  await assertOurs(data);
  const postgres = await chooseOwner(join(data, 'postgres'));
  if (postgres !== undefined) await chown(data, 0, postgres.gid);
  await chmod(data, postgres === undefined ? 0o700 : 0o710).catch(refuse(data));
  await access(data, constants.R_OK | constants.W_OK | constants.X_OK).catch(refuse(data));
  return data;
}

/** What the parts of a stack create here, with payloads, emails, settings and sources; not what Postgres creates. */
const FOLDERS = ['mail', 'files', 'bundles'];
const FILES = ['sqs.sqlite'];

/**
 * Closes everything in the data folder to other accounts, except what Postgres owns: the account of Postgres, and every
 * account of its group, can enter the folder. Creates the files that would otherwise be created later with open
 * permissions.
 */
export async function closeContents(data: string): Promise<void> {
  // A file instead of a folder, or a folder instead of a file, is reported by the part that reads it.
  const ignore = () => undefined;
  for (const name of FOLDERS) await mkdir(join(data, name), { recursive: true, mode: 0o700 }).catch(ignore);
  // SQLite accepts an empty file, and gives its other files the same mode.
  for (const name of FILES) await appendFile(join(data, name), '', { mode: 0o600 }).catch(ignore);
  for (const entry of await readdir(data, { withFileTypes: true })) {
    if (entry.name.startsWith('postgres')) continue;
    const mode = entry.isDirectory() ? 0o700 : 0o600;
    if (entry.isDirectory() || entry.isFile()) await chmod(join(data, entry.name), mode);
  }
}

/**
 * Throws if a file belongs to another user, as after a start with sudo: SQLite and Postgres would fail without a path
 * or a reason.
 */
async function assertOurs(data: string): Promise<void> {
  const uid = process.getuid?.();
  if (uid === undefined || uid === 0) return;
  const paths = (await stat(data)).uid === uid ? (await readdir(data)).map((name) => join(data, name)) : [data];
  for (const path of paths) {
    const owner = (await lstat(path)).uid;
    if (owner === uid) continue;
    throw new Error(
      `${path} belongs to ${accountName(owner)}, perhaps after a start with sudo: ` +
        `run sudo chown -R "$(id -u):$(id -g)" ${data}, or delete it with sudo`,
    );
  }
}

function refuse(data: string): (error: NodeJS.ErrnoException) => Promise<never> {
  return async (error) => {
    throw new Error(`cannot write to ${data}: ${await reasonOf(error, data)}`, { cause: error });
  };
}

async function reasonOf(error: NodeJS.ErrnoException, folder: string): Promise<string> {
  switch (error.code) {
    case 'EROFS':
      return 'the file system is read-only: move the project to a writable file system';
    case 'EACCES':
    case 'EPERM': {
      const owner = accountName((await stat(folder)).uid);
      return `permission denied, ${folder} belongs to ${owner}: start as that user, or change the owner`;
    }
    case 'ENOSPC':
      return 'no space is left on the disk';
    default:
      return error.message;
  }
}
