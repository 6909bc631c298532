import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ownModule } from '../../core/own-files.ts';
import { findEmbedded } from './find-embedded.ts';
import { openServerFolder, readServerState, type ServerState } from './server-state.ts';

const POLL_MS = 10;
/** Ten times what a first start takes on a busy machine. */
const LONGEST_START_MS = 120_000;

/**
 * Returns the state of the Postgres server that all tests of this account share, and starts it if it does not run. It
 * outlives this process and stops by itself.
 * @param gone the state of a server that does not answer
 * @throws Error with the reason if it cannot start
 */
export async function sharedServer(gone?: ServerState): Promise<ServerState> {
  const embedded = findEmbedded();
  const folder = await openServerFolder(embedded.release);
  const deadline = Date.now() + LONGEST_START_MS;
  let keeper: ChildProcess | undefined;
  while (Date.now() < deadline) {
    const state = await readServerState(folder);
    if (state !== undefined && state.id !== gone?.id) return state;
    if (keeper?.exitCode) throw new Error(`Postgres for tests cannot start: ${await lastLine(folder)}`);
    // It exits with 0 if another process already keeps the server.
    const hasEnded = keeper === undefined || keeper.exitCode === 0 || keeper.signalCode !== null;
    if (hasEnded) keeper = startKeeper(folder, embedded.from);
    await wait(POLL_MS);
  }
  throw new Error(`Postgres for tests did not start within ${LONGEST_START_MS / 1000} s: see ${logOf(folder)}`);
}

/** Starts the process that keeps the server. Neither process waits for the other. */
function startKeeper(folder: string, from: string): ChildProcess {
  const log = openSync(logOf(folder), 'w', 0o600);
  const args = ['--disable-warning=ExperimentalWarning', ownModule('local/testing/main')];
  const keeper = spawn(process.execPath, [...args, '--folder', folder, '--from', from], {
    ...{ cwd: '/', detached: true, stdio: ['ignore', 'ignore', log] },
    env: { PATH: process.env.PATH ?? '' },
  });
  closeSync(log);
  keeper.unref();
  return keeper;
}

function logOf(folder: string): string {
  return join(folder, 'keeper.log');
}

async function lastLine(folder: string): Promise<string> {
  const text = await readFile(logOf(folder), 'utf8').catch(() => '');
  return text.trim().split('\n').at(-1) || `see ${logOf(folder)}`;
}

/** Returns whether a server does not answer any more, or is about to stop. */
export function isGone(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return /^(ECONN\w+|EPIPE|57P0[123])$/.test(String(code)) || /Connection terminated/.test(String(message));
}
