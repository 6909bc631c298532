import { execFile } from 'node:child_process';
import { readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const FAST_SHUTDOWN_MS = 10_000;
const POLL_MS = 20;

/**
 * Ends every process that uses this data folder: a server whose parent was killed, or backends whose server was killed
 * (a busy backend does not notice, and keeps the shared memory that a new server requires). Then deletes the lock files
 * if their process is dead, a zombie or another program with the same pid.
 */
export async function endLeftovers(folder: string): Promise<void> {
  const data = await realpath(folder);
  const server = await serverPid(data);
  if (server !== undefined && (await runsIn(server, data))) {
    signal(server, 'SIGINT');
    await waitUntilGone([server], data);
  }
  const rest = await processesIn(data);
  for (const pid of rest) signal(pid, 'SIGKILL');
  await waitUntilGone(rest, data);
  if (server !== undefined && !(await runsIn(server, data))) await removeLocks(data);
}

/** Deletes the pid file and the socket's lock file. Postgres considers a zombie alive, and a zombie may stay long. */
async function removeLocks(data: string): Promise<void> {
  const locks = (await readdir(data)).filter((name) => name === 'postmaster.pid' || name.startsWith('.s.PGSQL.'));
  for (const name of locks) await rm(join(data, name), { force: true });
}

async function serverPid(data: string): Promise<number | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  return pid > 1 ? pid : undefined;
}

async function waitUntilGone(pids: readonly number[], data: string): Promise<void> {
  const deadline = Date.now() + FAST_SHUTDOWN_MS;
  for (const pid of pids) {
    while (await runsIn(pid, data)) {
      if (Date.now() > deadline) signal(pid, 'SIGKILL');
      await wait(POLL_MS);
    }
  }
}

/** Finds Postgres processes by their working folder in /proc. Without /proc only the server is found, by its pid. */
async function processesIn(data: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir('/proc').catch(() => [])) {
    const pid = Number(entry);
    if (pid > 1 && pid !== process.pid && (await runsIn(pid, data))) found.push(pid);
  }
  return found;
}

async function runsIn(pid: number, data: string): Promise<boolean> {
  if (process.platform === 'linux') {
    const [state, cwd, name] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
      readlink(`/proc/${pid}/cwd`).catch(() => ''),
      readFile(`/proc/${pid}/comm`, 'utf8').catch(() => ''),
    ]);
    const dead = /\) [ZX] /.test(state);
    return state !== '' && !dead && cwd === data && name.startsWith('postgres');
  }
  const { stdout } = await run('ps', ['-o', 'state=,command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return !stdout.startsWith('Z') && stdout.includes('postgres') && stdout.includes(data);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended in the meantime.
  }
}
