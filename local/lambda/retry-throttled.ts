import { setTimeout } from 'node:timers/promises';
import type { InvocationResult } from './invocation-result.ts';

const LONGEST_DELAY_MS = 2_000;

export interface Throttling {
  readonly invoke: () => Promise<InvocationResult>;
  /** When to give it up, in epoch milliseconds; asked only when throttled. */
  readonly until: () => Promise<number>;
  readonly signal: AbortSignal;
}

/** Invokes; while that is throttled again and again, ever more slowly, until the time is up or the signal fires. */
export async function retryThrottled({ invoke, until, signal }: Throttling): Promise<InvocationResult> {
  const first = await invoke();
  if (first.kind !== 'throttled') return first;
  const end = await until();
  for (let refusals = 1; ; refusals += 1) {
    await sleep(Math.max(0, Math.min(retryDelayMs(refusals), end - Date.now())), signal);
    if (signal.aborted || Date.now() >= end) return first;
    const outcome = await invoke();
    if (outcome.kind !== 'throttled') return outcome;
  }
}

/** Resolves after so many milliseconds, or when the signal fires. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}

/** 50, 100, 200 … 2,000 ms. */
export function retryDelayMs(failures: number): number {
  return Math.min(LONGEST_DELAY_MS, 25 * 2 ** Math.min(failures, 10));
}
