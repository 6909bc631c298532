/** A job system under measurement. */
export interface Contender {
  readonly system: 'millrace' | 'pg-boss' | 'graphile-worker' | 'floor';
  /** Jobs that one statement takes and that one finishes; undefined for one at a time. */
  readonly batch: number | undefined;
  /** How many take jobs at the same time, each with a connection. */
  readonly lanes: number;
  /** Installs the job system into an empty database. */
  open(url: string): Promise<OpenContender>;
}

/** An installed job system. It runs jobs that do nothing, in this process. */
export interface OpenContender {
  /** Enqueues `jobs` jobs on one connection, `ENQUEUE_BATCH` per call. */
  enqueue(jobs: number): Promise<void>;
  /** Runs all jobs; resolves when the last outcome is committed. */
  drain(jobs: number): Promise<void>;
  /** Throws unless each job ran once and succeeded. */
  check(jobs: number): Promise<void>;
  close(): Promise<void>;
}

/** Returns the name in a report, such as `pg-boss, batch 100, 4 at once`. */
export function nameOf({ system, batch, lanes }: Contender): string {
  return `${system}, ${batch === undefined ? 'one by one' : `batch ${batch}`}, ${lanes} at once`;
}

const ENQUEUE_BATCH = 1000;

/** Calls `put` with the payloads of `jobs` jobs, batch by batch. */
export async function inBatches(jobs: number, put: (payloads: { id: number }[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < jobs; from += ENQUEUE_BATCH) {
    await put(Array.from({ length: Math.min(ENQUEUE_BATCH, jobs - from) }, (_, index) => ({ id: from + index })));
  }
}

/** Counts the runs of each job. */
export class RunCount {
  readonly #runs = new Map<number | string, number>();

  /** Returns the number of different jobs that ran so far. */
  add(job: number | string): number {
    this.#runs.set(job, (this.#runs.get(job) ?? 0) + 1);
    return this.#runs.size;
  }

  /** Returns whether `jobs` jobs ran, each of them once. */
  ranOnce(jobs: number): boolean {
    return this.#runs.size === jobs && [...this.#runs.values()].every((runs) => runs === 1);
  }
}
