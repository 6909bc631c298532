import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Child, Children } from '../processes/children.ts';
import { freePort } from '../processes/ports.ts';
import { findBinaries } from './binaries.ts';
import { ensureCluster, SUPERUSER } from './cluster.ts';
import { type Launch, launchServer, type ServerProcess } from './launch.ts';
import { endLeftovers } from './leftovers.ts';
import { chooseOwner } from './owner.ts';
import { readVersionWhenReady } from './ready.ts';

export interface PostgresOptions {
  /** Ends the server if this process is killed. */
  readonly children: Children;
  /** The data folder, created if it does not exist. The log is beside it, in `<folder>.log`. */
  readonly folder: string;
  /** Preferred port; the next free one is used if it is in use. Default: any free port. */
  readonly port?: number;
  /** Folder that contains `initdb` and `postgres`; default: the binaries of the npm package. */
  readonly binaries?: string;
  /** The module, as a path or URL, whose package depends on that npm package. Default: a module of this package. */
  readonly from?: string;
  /** Server settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Database to create if it does not exist. Default `millrace`. */
  readonly database?: string;
}

export interface PostgresServer {
  /** URL of `database` for the superuser. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly folder: string;
  /** As in `show server_version`. */
  readonly version: string;
  /** Resolves when the server process ends for any reason. To recover, start again with the same folder and port. */
  readonly exited: Child['exited'];
  /** Stops by fast shutdown: open transactions are rolled back. Resolves when the process has ended. */
  stop(): Promise<void>;
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '.',
  timezone: 'UTC',
  max_connections: '200',
};
const RETRY_FOR_MS = 20_000;
const RETRY_EVERY_MS = 100;
const STOP_WITHIN_MS = 10_000;
/** Another program bound the port, or a killed server still exists as a zombie or with attached shared memory. */
const TRANSIENT = /lock file ".*" already exists|pre-existing shared memory block|could not create any TCP\/IP sockets/;

/**
 * Starts a Postgres server on 127.0.0.1. Processes that a killed run left on the same folder are ended first, and the
 * data is recovered. Throws with the server's own message if it logged one.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const wanted = resolve(options.folder);
  const binaries = await findBinaries({ folder: options.binaries, from: options.from, cache: `${wanted}.libraries` });
  const owner = await chooseOwner(wanted);
  const password = await ensureCluster(wanted, binaries, owner);
  const folder = await realpath(wanted);
  const deadline = Date.now() + RETRY_FOR_MS;
  for (;;) {
    await endLeftovers(folder);
    const port = await freePort(options.port);
    const settings = { ...SETTINGS, ...options.settings, port: String(port) };
    const launch: Launch = { children: options.children, folder, binaries, owner, settings };
    const server = await launchServer(launch);
    const url = `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${options.database ?? 'millrace'}`;
    const version = await readVersionWhenReady(url, server.exited).catch(async (error: unknown) => {
      await stop(server);
      throw error;
    });
    if (version !== undefined) {
      return { url, port, pid: server.pid, folder, version, exited: server.exited, stop: () => stop(server) };
    }
    const log = await server.log();
    if (!TRANSIENT.test(log) || Date.now() > deadline)
      throw new Error(`Postgres did not start: ${reason(log, folder)}`);
    await wait(RETRY_EVERY_MS);
  }
}

function reason(log: string, folder: string): string {
  const lines = log.split('\n').filter((line) => /(FATAL|PANIC|DETAIL|HINT|error):/.test(line));
  return `${lines.join(' ') || log.trim() || 'it logged nothing'} (see ${folder}.log)`;
}

async function stop(server: ServerProcess): Promise<void> {
  for (const name of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    server.kill(name);
    const done = new AbortController();
    const late = wait(STOP_WITHIN_MS, false, { signal: done.signal }).catch(() => false);
    const gone = await Promise.race([server.exited.then(() => true), late]);
    done.abort();
    if (gone) return;
  }
}
