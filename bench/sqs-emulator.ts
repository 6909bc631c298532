import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = join(import.meta.dirname, '..');
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

export interface Emulator {
  readonly port: number;
  /** From the spawn until it said that it listens. */
  readonly startMs: number;
  /** User and system time so far. */
  cpuMs(): Promise<number>;
  megabytes(of: 'VmRSS' | 'VmHWM'): Promise<number>;
  stop(): Promise<void>;
}

/** Builds the emulator into a folder as the package ships it, and gives its entry. */
export async function buildEmulator(folder: string): Promise<string> {
  execFileSync(process.execPath, [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    ...['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', folder],
  ]);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  return join(folder, 'local/sqs/main.js');
}

export async function startEmulator(main: string, dataFile?: string): Promise<Emulator> {
  const start = performance.now();
  const child = spawn(process.execPath, [main, ...(dataFile === undefined ? [] : ['--data', dataFile])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const startMs = performance.now() - start;
  return {
    port: (JSON.parse(line) as { port: number }).port,
    startMs,
    cpuMs: () => cpuOf(`/proc/${child.pid}/stat`, 11),
    megabytes: async (of) => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return (Number(new RegExp(`${of}:\\s+(\\d+)`).exec(status)?.[1]) * 1024) / 1e6;
    },
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** User and system time of all the processes that this one started and that have ended. */
export function endedCpuMs(): Promise<number> {
  return cpuOf('/proc/self/stat', 13);
}

async function cpuOf(file: string, first: number): Promise<number> {
  const stat = await readFile(file, 'utf8');
  // What follows the name is the state, the parent, and so on (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[first]) + Number(fields[first + 1])) * TICK_MS;
}

/** How long a Node process takes that does nothing but say so. */
export async function startNode(): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, ['-e', 'console.log()'], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const ms = performance.now() - start;
  await once(child, 'exit');
  return ms;
}
