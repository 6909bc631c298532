import { type ChildProcess, type StdioOptions, spawn as spawnProcess } from 'node:child_process';
import { once } from 'node:events';

export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /**
   * Sends `signal` (default SIGTERM) to the child's whole process group; nothing happens when it is gone. SIGSTOP only
   * once the command has shown a sign of life: stopped before it registered, the child would hold up the reaper.
   */
  kill(signal?: NodeJS.Signals): void;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface ChildOptions {
  cwd?: string;
  /** The whole environment of the child; default: ours. */
  env?: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
  /** As for `child_process.spawn`, nine entries at most; default: pipes. */
  stdio?: StdioOptions;
  /** What ends the child when we close or die: KILL (default), or INT with a KILL after ten seconds. */
  lastSignal?: 'KILL' | 'INT';
}

export interface Children {
  /**
   * Starts `command` as leader of its own process group. A command that does not exist is an exit with code 127.
   * Throws when no process could be made (a missing `cwd`, say).
   */
  spawn(command: string, args: readonly string[], options?: ChildOptions): Child;
  /** Kills what is left, waits for it, ends the reaper. */
  close(): Promise<void>;
}

const GRACE_MS = 10_000;

/**
 * Lives in its own session and outlives a hard kill of ours: when the pipe to it closes, it ends every group still
 * registered, stopped ones too. Lines: `+<group> <signal>` registers, `-<group>` forgets.
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

/** Starts child processes of which none is left behind, even after SIGKILL of this process. */
export function openChildren(): Children {
  const reaper = spawnProcess('/bin/sh', ['-c', REAPER], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Neither the reaper nor a write to it after its death may hold up or end this process.
  reaper.unref();
  reaper.on('error', () => {});
  reaper.stdin.on('error', () => {});
  const live = new Map<Child, 'KILL' | 'INT'>();

  function spawn(command: string, args: readonly string[], options: ChildOptions = {}): Child {
    if (reaper.pid === undefined || reaper.exitCode !== null || reaper.signalCode !== null) {
      throw new Error(`cannot start ${command}: the process that cleans up after us has gone; restart`);
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
    reaper.stdin.end();
    if (reaper.exitCode === null && reaper.signalCode === null) await once(reaper.ref() ?? reaper, 'exit');
  }

  return { spawn, close };
}

/**
 * The child registers itself before it becomes `argv`: the pipe stays open until it has, so that there is no moment at
 * which our death would leave it unknown to the reaper.
 */
function startRegistered(
  reaper: ChildProcess,
  options: ChildOptions & { lastSignal: 'KILL' | 'INT'; argv: string[] },
): Child {
  const { stdio = 'pipe', lastSignal, argv, ...rest } = options;
  const entries = typeof stdio === 'string' ? [stdio, stdio, stdio] : [...stdio];
  const descriptor = entries.length;
  const script = `echo "+$$ ${lastSignal}" >&${descriptor} && exec ${descriptor}>&- && exec "$@"`;
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
      killGroup(pid, 'SIGKILL'); // what the leader left behind
      gone = true; // from here on the number may belong to others
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
    // ESRCH: all gone. EPERM: macOS says so of a group of zombies.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
