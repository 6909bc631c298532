import { setTimeout } from 'node:timers/promises';
import type { InvocationResult } from './invocation-result.ts';

const LONGEST_DELAY_MS = 2_000;

export interface Throttling {
  readonly invoke: () => Promise<InvocationResult>;
  /** Returns the time to give up, in epoch milliseconds; called only if throttled. */
  readonly until: () => Promise<number>;
  readonly signal: AbortSignal;
}

/** Invokes, and retries with growing delays while throttled, until the time is over or the signal fires. */
export async function retryThrottled({ invoke, until, signal }: Throttling): Promise<InvocationResult> {
  const first = await invoke();
  if (first.kind !== 'throttled') return first;
  const end = await until();
  for (let attempt = 1; ; attempt += 1) {
    await sleep(Math.max(0, Math.min(retryDelayMs(attempt), end - Date.now())), signal);
    if (signal.aborted || Date.now() >= end) return first;
    const result = await invoke();
    if (result.kind !== 'throttled') return result;
  }
}

/** Resolves after `ms` milliseconds, or when the signal fires. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}

/** Returns the delay after this number of failures: 50, 100, 200 … 2,000 ms. */
export function retryDelayMs(failures: number): number {
  return Math.min(LONGEST_DELAY_MS, 25 * 2 ** Math.min(failures, 10));
}
