/** A job system on a fresh database of its own. */
export interface Contender {
  readonly name: string;
  open(url: string): Promise<Engine>;
}

/** All run jobs that do nothing, in this process. */
export interface Engine {
  /** Puts in `jobs` jobs, `ENQUEUE_BATCH` a call, on one connection. */
  enqueue(jobs: number): Promise<void>;
  /** Runs them all; resolves when the last outcome is committed. */
  drain(jobs: number): Promise<void>;
  /** Throws unless each of them ran once and has succeeded. */
  check(jobs: number): Promise<void>;
  close(): Promise<void>;
}

export const ENQUEUE_BATCH = 1000;

/** Calls `put` with the payloads of `jobs` jobs, batch by batch. */
export async function inBatches(jobs: number, put: (payloads: { id: number }[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < jobs; from += ENQUEUE_BATCH) {
    await put(Array.from({ length: Math.min(ENQUEUE_BATCH, jobs - from) }, (_, index) => ({ id: from + index })));
  }
}
