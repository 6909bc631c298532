import type { Duration } from '../duration.ts';
import type { HandlerAddress } from '../handler/naming.ts';
import type { HandlerRun } from './handler-run.ts';

export interface DrainOptions {
  /**
   * Latest time on the clock of the database, or a duration from its present time. The clock then shows it. Default: as
   * long as a job waits.
   */
  readonly until?: Date | Duration;
  /** Largest number of attempts. Default 1000. */
  readonly maxRuns?: number;
  /** Returns the number in [0, 1) that selects a delay within the jitter. Default 0: the shortest delay. */
  readonly random?: () => number;
}

/** One attempt, in the order in which they ran. */
export interface DrainedRun extends HandlerRun, HandlerAddress {
  /** Job id, a decimal string. */
  readonly jobId: string;
  /** As stored: after JSON, before the schema. */
  readonly payload: unknown;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** When it started, on the clock of the database. */
  readonly at: Date;
}
