import { readdirSync, readFileSync } from 'node:fs';

/** The kernel's letter for what a process does: T stopped, Z zombie; undefined when it is gone. */
export function state(pid: number): string | undefined {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

export const isGone = (pid: number): boolean => [undefined, 'Z', 'X'].includes(state(pid));

/** Process ids of the environments whose bundle lies in `folder`, whoever started them. */
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
