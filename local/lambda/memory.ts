import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Resident memory of a process in MB, or 0 when it is gone. */
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
 * Calls `onExceeded` once when the process holds more than `limitMb`; returns what ends the watch. V8's own limit does
 * not count buffers (300 MB of them passed one of 128), so the resident set is read, every 50 ms.
 */
export function watchMemory(pid: number, limitMb: number, onExceeded: () => void): () => void {
  let watching = true;
  const look = async (): Promise<void> => {
    const used = await residentMb(pid);
    if (!watching) return;
    if (used > limitMb) onExceeded();
    else timer = setTimeout(look, platform() === 'linux' ? 50 : 500);
  };
  let timer = setTimeout(look, 50);
  return () => {
    watching = false;
    clearTimeout(timer);
  };
}
