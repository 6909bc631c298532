import type { Outcome } from './outcome.ts';
import { backoff, pause } from './pause.ts';

export interface Throttling {
  readonly invoke: () => Promise<Outcome>;
  /** When to give it up, in epoch milliseconds; asked only when throttled. */
  readonly until: () => Promise<number>;
  readonly signal: AbortSignal;
}

/** Invokes; while that is throttled again and again, ever more slowly, until the time is up or the signal fires. */
export async function retryThrottled({ invoke, until, signal }: Throttling): Promise<Outcome> {
  const first = await invoke();
  if (first.kind !== 'throttled') return first;
  const end = await until();
  for (let refusals = 1; ; refusals += 1) {
    await pause(Math.max(0, Math.min(backoff(refusals), end - Date.now())), signal);
    if (signal.aborted || Date.now() >= end) return first;
    const outcome = await invoke();
    if (outcome.kind !== 'throttled') return outcome;
  }
}
