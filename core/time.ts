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
