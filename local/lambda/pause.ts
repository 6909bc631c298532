import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST_PAUSE_MS = 2_000;

/** Resolves after so many milliseconds, or when the signal fires. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/** 50, 100, 200 … 2,000 ms. */
export function backoff(failures: number): number {
  return Math.min(LONGEST_PAUSE_MS, 25 * 2 ** Math.min(failures, 10));
}
