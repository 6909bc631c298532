import { randomBytes } from 'node:crypto';

/** What the jobs of a measurement do. */
export interface Work {
  /** Size of each payload as JSON, in bytes; 0: only its id. */
  readonly bytes: number;
  /** Share of the jobs whose first attempt fails, from 0 to 1. */
  readonly failing: number;
}

/** The jobs do nothing, and have small payloads. */
export const NO_OP: Work = { bytes: 0, failing: 0 };

export interface BenchPayload {
  readonly id: number;
  readonly text?: string;
}

/** Bytes of payload in one call that enqueues. */
const BATCH_BYTES = 4_000_000;
const VARIANTS = 1000;
const texts = new Map<number, string>();

export function largestBatch({ bytes }: Work): number {
  return bytes === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(BATCH_BYTES / bytes));
}

/** Returns a payload of that size. Its text is random, because Postgres compresses a regular one to almost nothing. */
export function payloadOf({ bytes }: Work, id: number): BenchPayload {
  if (bytes === 0) return { id };
  const length = Math.max(0, bytes - JSON.stringify({ id, text: '' }).length);
  const from = id % VARIANTS;
  return { id, text: randomText(bytes).slice(from, from + length) };
}

function randomText(bytes: number): string {
  const text = texts.get(bytes) ?? randomBytes(bytes + VARIANTS).toString('base64');
  texts.set(bytes, text);
  return text;
}

/** Returns whether the first attempt of a job fails; the failing jobs are spread evenly. */
export function failsFirst({ failing }: Work, id: number): boolean {
  return failuresOf({ failing }, id + 1) > failuresOf({ failing }, id);
}

/** Returns how many of the first `jobs` jobs fail once. */
export function failuresOf({ failing }: Pick<Work, 'failing'>, jobs: number): number {
  // Without the small addend, 0.07 * 100 would count as less than 7.
  return Math.floor(jobs * failing + 1e-9);
}

/** Runs jobs in this process, and counts the runs of each. */
export class Runs {
  readonly #runs = new Map<number, number>();
  readonly #work: Work;
  #total = 0;

  constructor(work: Work = NO_OP) {
    this.#work = work;
  }

  /** Number of different jobs that ran so far. */
  get jobs(): number {
    return this.#runs.size;
  }

  /** Number of all runs so far. */
  get total(): number {
    return this.#total;
  }

  /** Runs a job; returns whether this attempt fails. */
  fails({ id }: BenchPayload): boolean {
    const runs = (this.#runs.get(id) ?? 0) + 1;
    this.#runs.set(id, runs);
    this.#total += 1;
    return runs === 1 && failsFirst(this.#work, id);
  }

  /** Returns whether `jobs` jobs ran, those that fail twice and the others once. */
  areComplete(jobs: number): boolean {
    const planned = (id: number) => (failsFirst(this.#work, id) ? 2 : 1);
    return this.#runs.size === jobs && [...this.#runs].every(([id, runs]) => id < jobs && runs === planned(id));
  }
}

/** Thrown by a job whose first attempt fails. */
export class FailsOnce extends Error {}
