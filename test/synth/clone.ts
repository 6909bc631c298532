import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['api', 'core', 'functions', 'infra', 'migrations', 'package.json', 'package-lock.json', 'cdk.json'];

/** A clone after `npm ci`, on a machine without network, Docker or credentials, with this npm cache. */
export interface Clone {
  readonly folder: string;
  run(command: string, ...args: readonly string[]): Promise<{ stdout: string; stderr: string }>;
}

/**
 * Copies the deployed sources into `folder`. Each command runs without network, with the packages mounted into the
 * clone: a symbolic link would lead the bundler out of it.
 * @throws Error of `unshare` where the machine does not allow such a namespace.
 */
export async function makeClone(folder: string, cache: string): Promise<Clone> {
  const packages = join(folder, 'node_modules');
  const home = join(folder, '.home');
  await mkdir(packages, { recursive: true });
  await mkdir(home);
  for (const name of SOURCES) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  const env = {
    ...{ PATH: `${join(packages, '.bin')}:/usr/bin:/bin`, HOME: home, TMPDIR: home },
    ...{ CDK_DOCKER: '/bin/false', CI: 'true', NO_COLOR: '1', npm_config_cache: cache },
  };
  const inside = 'mount --bind "$0" node_modules && cd "$PWD" && exec "$@"';
  const namespaces = ['--net', '--mount', '--map-root-user'];
  return {
    folder,
    run: (command, ...args) => {
      const argv = [...namespaces, 'sh', '-c', inside, join(ROOT, 'node_modules'), command, ...args];
      return promisify(execFile)('unshare', argv, { cwd: folder, env, maxBuffer: 50_000_000 });
    },
  };
}

/** Returns every file of a folder in base64, by path from the folder. */
export async function contentsOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = await Promise.all(paths.sort().map(async (path) => [path, await readFile(path, 'base64')] as const));
  return Object.fromEntries(read.map(([path, text]) => [path.slice(folder.length + 1), text]));
}
