import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Returns the resident memory of a process in MB; 0 if the process has ended. */
async function residentMb(pid: number): Promise<number> {
  try {
    const text =
      platform() === 'linux'
        ? (/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0')
        : (await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout;
    return Number(text) / 1024;
  } catch {
    return 0;
  }
}

/**
 * Calls `onExceeded` once if the process uses more than `limitMb`; returns a function that ends the watch. V8's limit
 * does not count buffers (300 MB of them fitted into a limit of 128 MB), so the resident set is read every 50 ms.
 */
export function watchMemory(pid: number, limitMb: number, onExceeded: () => void): () => void {
  let watching = true;
  const check = async (): Promise<void> => {
    const used = await residentMb(pid);
    if (!watching) return;
    if (used > limitMb) onExceeded();
    else timer = setTimeout(check, platform() === 'linux' ? 50 : 500);
  };
  let timer = setTimeout(check, 50);
  return () => {
    watching = false;
    clearTimeout(timer);
  };
}
