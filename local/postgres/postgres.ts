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
import { askWhenReady } from './ready.ts';

export interface PostgresOptions {
  /** Who ends the server when this process is killed. */
  readonly children: Children;
  /** The data folder; made when it is not there. Its log lies beside it as `<folder>.log`. */
  readonly folder: string;
  /** Preferred port; moves to the next free one. Default: any. */
  readonly port?: number;
  /** Folder with `initdb` and `postgres`; default the binaries that came with npm. */
  readonly binaries?: string;
  /** Server settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Made when it is not there. Default `millrace`. */
  readonly database?: string;
}

export interface PostgresServer {
  /** The superuser, in `database`. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly folder: string;
  /** As in `show server_version`. */
  readonly version: string;
  /** Resolves when the server process ends, asked to or not. Start again with the same folder and port to recover. */
  readonly exited: Child['exited'];
  /** Fast shutdown: open transactions are rolled back. Resolves when the process is gone. */
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
/** A rival took the port, or a killed server is not quite gone: its zombie not reaped, its memory still attached. */
const PASSES = /lock file ".*" already exists|pre-existing shared memory block|could not create any TCP\/IP sockets/;

/**
 * Starts a Postgres of our own on 127.0.0.1. What an earlier, killed run left of the same folder is ended first, and
 * its data recovered. Throws one sentence, with the server's own words where it gave any.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const wanted = resolve(options.folder);
  const binaries = await findBinaries(options.binaries, `${wanted}.libraries`);
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
    const version = await askWhenReady(url, server.exited).catch(async (error: unknown) => {
      await stop(server);
      throw error;
    });
    if (version !== undefined) {
      return { url, port, pid: server.pid, folder, version, exited: server.exited, stop: () => stop(server) };
    }
    const said = await server.log();
    if (!PASSES.test(said) || Date.now() > deadline) throw new Error(`Postgres did not start: ${reason(said, folder)}`);
    await wait(RETRY_EVERY_MS);
  }
}

function reason(log: string, folder: string): string {
  const lines = log.split('\n').filter((line) => /(FATAL|PANIC|DETAIL|HINT|error):/.test(line));
  return `${lines.join(' ') || log.trim() || 'it said nothing'} (see ${folder}.log)`;
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
