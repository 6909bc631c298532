import {
  type ChildProcess,
  type ChildProcessByStdio,
  type StdioOptions,
  spawn as spawnProcess,
} from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';

export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /**
   * Sends `signal` (default SIGTERM) to the child's process group; does nothing after its exit. Send SIGSTOP only after
   * the command has written something: a child stopped before it has registered would block the reaper.
   */
  kill(signal?: NodeJS.Signals): void;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface ChildOptions {
  cwd?: string;
  /** The whole environment of the child; default: that of this process. */
  env?: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
  /** As for `child_process.spawn`, at most nine entries; default: pipes. */
  stdio?: StdioOptions;
  /** Signal for the child on `close` or when this process dies: KILL (default), or INT and after ten seconds KILL. */
  lastSignal?: 'KILL' | 'INT';
}

export interface Children {
  /**
   * Starts `command` as the leader of its own process group. An unknown command exits with code 127. Throws if no
   * process could be created, for example when `cwd` does not exist.
   */
  spawn(command: string, args: readonly string[], options?: ChildOptions): Child;
  /** Kills the remaining children, waits for their exit and ends the reaper. */
  close(): Promise<void>;
}

const GRACE_MS = 10_000;
/** Delay before a reaper that replaced another reaper is itself replaced, in milliseconds. */
const RESTART_MS = 1_000;

/**
 * Runs in its own session and survives a SIGKILL of this process: when its input pipe closes, it ends every process
 * group still registered, including stopped ones. The line `+<group> <signal>` registers a group, `-<group>` removes
 * it.
 */
const REAPER = `
trap '' INT HUP TERM
groups=' '
while read -r group signal; do
  id=\${group#?}
  case $group in
    +*) groups="$groups$id:$signal " ;;
    -*) case $groups in *" $id:"*) rest=\${groups#*" $id:"}; groups="\${groups%%" $id:"*} \${rest#* }" ;; esac ;;
  esac
done
for entry in $groups; do
  kill -s "\${entry#*:}" -- "-\${entry%:*}"
  kill -s CONT -- "-\${entry%:*}"
done 2>/dev/null
rounds=0
while [ $rounds -lt ${GRACE_MS / 100} ]; do
  left=''
  for entry in $groups; do kill -s 0 -- "-\${entry%:*}" && left=yes; done 2>/dev/null
  [ -z "$left" ] && exit 0
  sleep 0.1
  rounds=$((rounds + 1))
done
for entry in $groups; do kill -s KILL -- "-\${entry%:*}"; done 2>/dev/null
`;

/** Starts child processes that all end with this process, even after its SIGKILL. */
export function openChildren(): Children {
  const live = new Map<Child, 'KILL' | 'INT'>();
  let closing = false;
  let reaper = startReaper(replace);

  /** Starts another reaper for the same children after a reaper was killed. */
  function replace(): void {
    if (closing) return;
    reaper = startReaper(() => setTimeout(replace, RESTART_MS).unref());
    for (const [{ pid }, signal] of live) reaper.stdin.write(`+${pid} ${signal}\n`);
  }

  function spawn(command: string, args: readonly string[], options: ChildOptions = {}): Child {
    if (!isRunning(reaper)) {
      throw new Error(
        `cannot start ${command}: the process that ends leftover children has exited and is being restarted`,
      );
    }
    const { lastSignal = 'KILL' } = options;
    const child = startRegistered(reaper, { ...options, lastSignal, argv: [command, ...args] });
    live.set(child, lastSignal);
    void child.exited.then(() => {
      live.delete(child);
      if (reaper.stdin.writable) reaper.stdin.write(`-${child.pid}\n`);
    });
    return child;
  }

  async function close(): Promise<void> {
    await Promise.all([...live].map(([child, signal]) => end(child, signal)));
    closing = true;
    reaper.stdin.end();
    if (isRunning(reaper)) await once(reaper.ref() ?? reaper, 'exit');
  }

  return { spawn, close };
}

type Reaper = ChildProcessByStdio<Writable, null, null>;

function startReaper(onExit: () => void): Reaper {
  const reaper = spawnProcess('/bin/sh', ['-c', REAPER], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Neither the reaper, nor a write to it after its exit, may keep this process running or end it.
  reaper.unref();
  reaper.on('error', () => {});
  reaper.stdin.on('error', () => {});
  reaper.on('exit', onExit);
  return reaper;
}

function isRunning({ pid, exitCode, signalCode }: Reaper): boolean {
  return pid !== undefined && exitCode === null && signalCode === null;
}

/**
 * Starts a child that registers itself before it executes `argv`. It keeps the pipe open until it has registered, so
 * the reaper knows every child whenever this process dies.
 */
function startRegistered(
  reaper: Reaper,
  options: ChildOptions & { lastSignal: 'KILL' | 'INT'; argv: string[] },
): Child {
  const { stdio = 'pipe', lastSignal, argv, ...rest } = options;
  const entries = typeof stdio === 'string' ? [stdio, stdio, stdio] : [...stdio];
  const descriptor = entries.length;
  // The write fails while a killed reaper is being replaced; this process then registers the group with the new reaper.
  const register = `trap '' PIPE; echo "+$$ ${lastSignal}" >&${descriptor}; trap - PIPE; exec ${descriptor}>&-`;
  const script = `{ ${register}; } 2>/dev/null; exec "$@"`;
  const process = spawnProcess('/bin/sh', ['-c', script, 'sh', ...argv], {
    ...rest,
    detached: true,
    stdio: [...entries, reaper.stdin],
  });
  process.on('error', () => {});
  const { pid } = process;
  if (pid === undefined) throw new Error(`cannot start ${argv[0]}${rest.cwd ? ` in ${rest.cwd}` : ''}`);
  let gone = false;
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    process.on('exit', (code, signal) => {
      killGroup(pid, 'SIGKILL'); // the rest of the group
      gone = true; // the pid may be reused from now on
      resolve({ code, signal });
    });
  });
  return { pid, process, kill: (signal = 'SIGTERM') => gone || killGroup(pid, signal), exited };
}

async function end(child: Child, signal: 'KILL' | 'INT'): Promise<void> {
  child.kill(`SIG${signal}`);
  child.kill('SIGCONT');
  const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  await child.exited;
  clearTimeout(timer);
}

function killGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    // ESRCH: the group has ended. EPERM: macOS returns it for a group of zombies.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
