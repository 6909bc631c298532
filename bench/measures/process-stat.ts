import { readFile } from 'node:fs/promises';

/** Processor times are user and system time, in milliseconds. */
export interface ProcessStat {
  readonly pid: string;
  readonly parent: number;
  readonly cpuMs: number;
  /** Processor time of the ended child processes for which this process waited. */
  readonly reapedCpuMs: number;
}

/** Linux reports processor time in hundredths of a second. */
const TICK_MS = 10;

/** Reads `/proc/<pid>/stat`; returns undefined for a process that does not exist. */
export async function readProcessStat(pid: number | string): Promise<ProcessStat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // The name can contain spaces; the state, the parent and so on follow it (proc(5)).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const number = (index: number) => Number(fields[index]);
  return {
    pid: String(pid),
    parent: number(1),
    cpuMs: (number(11) + number(12)) * TICK_MS,
    reapedCpuMs: (number(13) + number(14)) * TICK_MS,
  };
}
