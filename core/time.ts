/** Waits and measures durations. The time of day comes from the database only. */
export interface Time {
  /** Returns milliseconds from an arbitrary start; never decreases. */
  now(): number;
  /** Resolves after `ms`, or as soon as the signal fires; never rejects. */
  sleep(ms: number, signal?: Waker): Promise<void>;
}

/** What ends a wait: the part of an `AbortSignal` that a wait needs. */
export interface Waker {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Ends waits like the signal of an `AbortController`, for less: an attempt of a small job took a tenth of its time. */
export class Latch implements Waker {
  readonly #listeners = new Set<() => void>();
  aborted = false;

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }

  release(): void {
    this.aborted = true;
    for (const listener of this.#listeners) listener();
  }
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
 * there is no time for another pause.
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

/** Returns whether a time is valid and in the years 1 to 9999, for which ISO 8601 has four digits. */
export function isInYears(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

const FIRST_TIME = new Date('0001-01-01T00:00:00.000Z');
const LAST_TIME = new Date('9999-12-31T23:59:59.999Z');

/**
 * Returns a time of Postgres as pg parsed it, or the nearest one in the years 1 to 9999: pg reads infinity as a number
 * and a far year as an invalid date, and one such row must not break a list.
 */
export function nearestTime(text: string, parsed: unknown): Date {
  if (parsed instanceof Date && isInYears(parsed)) return parsed;
  return text.startsWith('-') || text.endsWith('BC') ? FIRST_TIME : LAST_TIME;
}
