import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type ProcessStat, readProcessStat } from '../measures/process-stat.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface Emulator {
  readonly port: number;
  /** From the spawn until the emulator listens. */
  readonly startMs: number;
  /** User and system time so far. */
  cpuMs(): Promise<number>;
  megabytes(of: 'VmRSS' | 'VmHWM'): Promise<number>;
  stop(): Promise<void>;
}

/** Builds the emulator into a folder as the package ships it, and returns its entry point. */
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
    cpuMs: async () => (await statOf(child.pid ?? 'none')).cpuMs,
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

/** Returns the user and system time of all ended child processes, in milliseconds. */
export async function endedCpuMs(): Promise<number> {
  return (await statOf('self')).reapedCpuMs;
}

async function statOf(pid: number | string): Promise<ProcessStat> {
  const stat = await readProcessStat(pid);
  if (stat === undefined) throw new Error(`/proc has no process ${pid}, whose processor time is measured`);
  return stat;
}

/** Returns how long a Node process takes until its first output, in milliseconds. */
export async function startNode(): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, ['-e', 'console.log()'], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const ms = performance.now() - start;
  await once(child, 'exit');
  return ms;
}
