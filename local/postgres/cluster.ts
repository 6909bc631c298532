import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.ts';
import { assertReachable, type Owner } from './owner.ts';

/**
 * Not `millrace`: the search path of a user contains the schema with its name, so a statement that does not qualify a
 * table would work here and fail elsewhere.
 */
export const SUPERUSER = 'postgres';

const PASSWORD_FILE = 'millrace.password';
const run = promisify(execFile);

/**
 * Creates the data folder if it does not exist, and returns the superuser's password. The folder is created under
 * another name and renamed when complete, so a process killed meanwhile leaves no incomplete database.
 */
export async function ensureCluster(folder: string, binaries: Binaries, owner: Owner | undefined): Promise<string> {
  await mkdir(dirname(folder), { recursive: true });
  if (owner !== undefined) {
    await assertReachable(dirname(folder), owner);
    await assertReachable(binaries.bin, owner);
  }
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (present.length === 0) await initialise(folder, binaries, owner);
  return readFile(join(folder, PASSWORD_FILE), 'utf8').catch((cause: unknown) => {
    throw new Error(`${folder} contains no Postgres data of this user: choose another folder.`, { cause });
  });
}

/**
 * Runs initdb. The password is random and also required on the socket: with `trust`, any account on this machine that
 * reaches the port would be a superuser, and a superuser can run programs. Locale C sorts the same on every machine and
 * version and requires no installed locale; messages stay English, and `startPostgres` matches them.
 */
async function initialise(folder: string, binaries: Binaries, owner: Owner | undefined): Promise<void> {
  const draft = `${folder}.new`;
  const passwordFile = `${folder}.password`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordFile, randomBytes(18).toString('base64url'), { mode: 0o600 });
  if (owner !== undefined) {
    await chown(draft, owner.uid, owner.gid);
    await chown(passwordFile, owner.uid, owner.gid);
  }
  const args = ['-D', draft, '-U', SUPERUSER, '--pwfile', passwordFile, '--auth', 'scram-sha-256'];
  args.push('--encoding', 'UTF8', '--locale', 'C', '--no-sync', '--no-instructions');
  const env = { PATH: process.env.PATH ?? '', LC_ALL: 'C', ...binaries.env };
  await run(join(binaries.bin, 'initdb'), args, { cwd: draft, env, uid: owner?.uid, gid: owner?.gid }).catch(
    (cause: Error & { stderr?: string }) => {
      throw new Error(`initdb failed: ${cause.stderr?.trim() || cause.message}`, { cause });
    },
  );
  await rename(passwordFile, join(draft, PASSWORD_FILE));
  await rename(draft, folder);
}
