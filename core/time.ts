/** Waits and measures durations. The time of day comes from the database only. */
export interface Time {
  /** Returns milliseconds from an arbitrary start; never decreases. */
  now(): number;
  /** Resolves after `ms`, or as soon as the signal fires; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemTime: Time = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener('abort', end, { once: true });
    }),
};

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Calls `work` until it returns true, with pauses that double from 50 ms to 2 s. Returns false when it is not done and
 * there is no time for another pause of so many milliseconds.
 */
export async function retryUntilDone(
  time: Time,
  hasTime: (pauseMs: number) => boolean,
  work: () => Promise<boolean>,
): Promise<boolean> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 2)) {
    if (await work()) return true;
    if (!hasTime(pause)) return false;
    await time.sleep(pause);
  }
}
