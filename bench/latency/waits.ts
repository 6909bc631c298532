/** The time from enqueue to start of jobs that run in this process. */
export class Waits {
  readonly #enqueuedAt = new Map<number, number>();
  readonly #waits: number[] = [];
  #notify: () => void = () => undefined;

  /** Call it before the job is enqueued, so that its wait includes the insert. */
  enqueued(id: number, nowMs: number): void {
    this.#enqueuedAt.set(id, nowMs);
  }

  /** Call it at each start; only the first one of a job counts. */
  started(id: number, nowMs: number): void {
    const at = this.#enqueuedAt.get(id);
    if (at === undefined) return;
    this.#enqueuedAt.delete(id);
    this.#waits.push(nowMs - at);
    if (this.#enqueuedAt.size === 0) this.#notify();
  }

  /** Resolves when all enqueued jobs have started. */
  async untilStarted(): Promise<void> {
    if (this.#enqueuedAt.size > 0) await new Promise<void>((resolve) => (this.#notify = resolve));
  }

  /** Removes and returns the waits so far, in milliseconds. */
  take(): number[] {
    return this.#waits.splice(0);
  }
}

/** Returns percentiles by nearest rank: each is a value that was measured. 0 for no values. */
export function percentiles(values: readonly number[]): { p50: number; p95: number; p99: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
