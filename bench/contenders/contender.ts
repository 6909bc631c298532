import { type BenchPayload, largestBatch, NO_OP, payloadOf, type Work } from './work.ts';

/** What tells the measurements of job systems apart. */
export interface ContenderName {
  readonly system: 'millrace' | 'pg-boss' | 'graphile-worker' | 'floor';
  /** Jobs that one statement takes and that one finishes; undefined for one at a time. */
  readonly batch?: number | undefined;
  /** How many take jobs at the same time, each with a connection. */
  readonly lanes: number;
}

/** A job system under measurement. */
export interface Contender extends ContenderName {
  /** Installs the job system into an empty database. Default: the jobs do nothing. */
  open(url: string, work?: Work): Promise<OpenContender>;
}

/** An installed job system. It runs jobs in this process. */
export interface OpenContender {
  /** Enqueues `jobs` jobs on one connection, `ENQUEUE_BATCH` per call. */
  enqueue(jobs: number): Promise<void>;
  /** Runs all jobs; resolves when the last outcome is committed, except that of the retries below. */
  drain(jobs: number): Promise<void>;
  /** The retries of a system that always delays them: `makeDue` ends the delay, then `drain` runs them. */
  readonly retries?: { makeDue(): Promise<unknown>; drain(jobs: number): Promise<void> };
  /** Throws unless each job succeeded, after as many runs as it should have. */
  check(jobs: number): Promise<void>;
  close(): Promise<void>;
}

/** Returns the name in a report, such as `pg-boss, batch 100, 4 at once`. */
export function nameOf({ system, batch, lanes }: ContenderName): string {
  return `${system}, ${batch === undefined ? 'one by one' : `batch ${batch}`}, ${lanes} at once`;
}

const ENQUEUE_BATCH = 1000;

/** Calls `put` with the payloads of `jobs` jobs, batch by batch. */
export async function inBatches(
  jobs: number,
  put: (payloads: BenchPayload[]) => Promise<unknown>,
  work: Work = NO_OP,
): Promise<void> {
  const size = Math.min(ENQUEUE_BATCH, largestBatch(work));
  for (let from = 0; from < jobs; from += size) {
    const length = Math.min(size, jobs - from);
    await put(Array.from({ length }, (_, index) => payloadOf(work, from + index)));
  }
}
