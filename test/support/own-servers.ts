import { execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { findBinaries } from '../../local/postgres/binaries.ts';
import { chooseOwner } from '../../local/postgres/owner.ts';
import { type PostgresServer, startPostgres } from '../../local/postgres/postgres.ts';
import { type Children, openChildren } from '../../local/processes/children.ts';
import { chosenBinaries } from './postgres-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

export interface OwnServers {
  readonly children: Children;
  /** Creates a data folder for one test. */
  newFolder(parent?: string): Promise<string>;
  /** Starts a server, which stops no later than the end of the test. */
  start(folder: string, port?: number): Promise<PostgresServer>;
}

const execute = promisify(execFile);
// A killed process loses no data that it passed to the system; only a power cut would.
const settings = { fsync: 'off' };

/** Starts servers that a test may kill. Initialises the data once and copies it, which is ten times faster. */
export function openOwnServers(): OwnServers {
  const children = openChildren();
  let pristine = '';
  beforeAll(async () => {
    pristine = join(await mkdtemp(join(tmpdir(), 'millrace-test-')), 'data');
    await chmod(dirname(pristine), 0o755);
    const server = await startPostgres({ children, folder: pristine, ...chosenBinaries() });
    await server.stop();
  });
  afterAll(async () => {
    await children.close();
    await rm(dirname(pristine), { recursive: true });
  });
  return {
    children,
    newFolder: async (parent) => {
      const folder = join(parent ?? (await temporaryFolder()), 'data');
      await execute('cp', ['-a', pristine, folder]);
      return folder;
    },
    start: async (folder, port) => {
      const server = await startPostgres({ children, folder, settings, ...(port && { port }), ...chosenBinaries() });
      onTestFinished(() => server.stop());
      return server;
    },
  };
}

/** Starts a server without a parent, as a hard kill of its parent leaves it. Returns its pid. */
export async function startOrphan(folder: string, port: number): Promise<number | undefined> {
  const { bin, env } = await findBinaries({ folder: chosenBinaries().binaries, cache: `${folder}.libraries` });
  const own = ['-p', String(port), '-c', 'unix_socket_directories=.', '-c', 'listen_addresses=127.0.0.1'];
  const options = { ...(await runAs(folder)), env: { LC_ALL: 'C', ...env }, stdio: 'ignore', detached: true } as const;
  const orphan = spawn(join(bin, 'postgres'), ['-D', folder, ...own], options);
  onTestFinished(() => void orphan.kill('SIGKILL'));
  return orphan.pid;
}

/** Returns the system account of this folder's server, as options of `spawn`. */
export async function runAs(folder: string): Promise<{ uid?: number; gid?: number }> {
  const owner = await chooseOwner(folder);
  return owner === undefined ? {} : { uid: owner.uid, gid: owner.gid };
}
