import { setTimeout as wait } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Milliseconds; default 60,000. A limit for a fact that never becomes true, not for a slow one. */
  readonly timeout?: number;
  /** Milliseconds between two attempts; default 20. */
  readonly interval?: number;
}

/** Repeats `assert` until it does not throw, and returns its value; throws its last error after the timeout. */
export async function eventually<T>(
  assert: () => T | Promise<T>,
  { timeout = 60_000, interval = 20 }: EventuallyOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeout;
  for (;;) {
    try {
      return await assert();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await wait(interval);
  }
}
