import { setTimeout as wait } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Milliseconds; default 60,000: for what never comes, not for what is slow. */
  readonly timeout?: number;
  /** Milliseconds between two tries; default 20. */
  readonly interval?: number;
}

/** Tries until `assert` no longer throws, and answers its value; throws its last error when the time is up. */
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
