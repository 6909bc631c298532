import { execFile } from 'node:child_process';
import { readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const FAST_SHUTDOWN_MS = 10_000;
const POLL_MS = 20;

/**
 * Ends whatever still runs on this data folder: a server whose parent was killed, or backends whose server was killed
 * (a busy one does not notice, and holds the shared memory that a new server needs). Then takes away the lock files of
 * a process that is dead, a zombie, or by now some other program.
 */
export async function endLeftovers(folder: string): Promise<void> {
  const data = await realpath(folder);
  const server = await serverPid(data);
  if (server !== undefined && (await worksIn(server, data))) {
    signal(server, 'SIGINT');
    await waitUntilGone([server], data);
  }
  const rest = await processesIn(data);
  for (const pid of rest) signal(pid, 'SIGKILL');
  await waitUntilGone(rest, data);
  if (server !== undefined && !(await worksIn(server, data))) await removeLocks(data);
}

/** The pid file and the one beside the socket: Postgres takes a zombie, which may stay for long, for alive. */
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
    while (await worksIn(pid, data)) {
      if (Date.now() > deadline) signal(pid, 'SIGKILL');
      await wait(POLL_MS);
    }
  }
}

/** Every Postgres process works in its data folder; /proc tells. Elsewhere only the server is found, by its pid. */
async function processesIn(data: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir('/proc').catch(() => [])) {
    const pid = Number(entry);
    if (pid > 1 && pid !== process.pid && (await worksIn(pid, data))) found.push(pid);
  }
  return found;
}

async function worksIn(pid: number, data: string): Promise<boolean> {
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
    // Gone in the meantime, which is what we want.
  }
}
