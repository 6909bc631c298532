import { readdirSync, readFileSync } from 'node:fs';

/** Returns the kernel's letter for the state of a process: T stopped, Z zombie; undefined if it has ended. */
export function state(pid: number): string | undefined {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

export const isGone = (pid: number): boolean => [undefined, 'Z', 'X'].includes(state(pid));

/** Returns the process ids of all environments whose bundle is in `folder`. */
export function environmentsIn(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return !isGone(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`LAMBDA_TASK_ROOT=${folder}\0`);
      } catch {
        return false;
      }
    });
}
