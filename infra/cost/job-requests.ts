import { BATCH } from '../../core/aws/batches.ts';
import { MAX_RECEIVE_COUNT } from '../../core/handler/timing.ts';

/** Jobs, and how they run. */
export interface Load {
  /** Jobs a month. */
  readonly jobs: number;
  /** Jobs of a batch that a handler receives, on average. */
  readonly batch: number;
  /** Messages of one request that sends them, on average, at most 10. */
  readonly sendBatch: number;
  /** Share of the attempts that fail, 0 to below 1. */
  readonly failing: number;
  /** Attempts after which a job is dead. */
  readonly maxAttempts: number;
}

/** What the jobs of a month cause. docs/cost.md states how it was counted. */
export interface JobRequests {
  readonly attempts: number;
  readonly deaths: number;
  readonly sends: number;
  /** Without those that return no message, which a stage at rest makes, too. */
  readonly receives: number;
  readonly deletes: number;
  /** Changes of visibility, which move the message of a dead job to the dead-letter queue. */
  readonly visibilities: number;
  readonly invocations: number;
  /** Invocations that only refuse the message of a dead job. */
  readonly refusals: number;
  /** Bytes of the log of the handlers and of the dispatcher, with what CloudWatch adds to each line. */
  readonly logBytes: number;
}

/** Bytes of log lines. The first three are those of the engine. */
export const LOG_BYTES = {
  /** The start of an attempt and its success. */
  attempt: 1100,
  /** The metrics of a batch of ten jobs. */
  batch: 850,
  /** The dispatcher's line for each dispatch. */
  dispatch: 330,
  /** The three lines START, END and REPORT of Lambda. */
  invocation: 270,
  /** What CloudWatch adds to each line. */
  line: 26,
} as const;
const LINES = { attempt: 2, batch: 1, dispatch: 1, invocation: 3 };

/** Returns what jobs cause. Mates of a dead job share none of the requests for its message: the worst case. */
export function jobRequests({ jobs, batch, sendBatch, failing, maxAttempts }: Load): JobRequests {
  const deaths = jobs * failing ** maxAttempts;
  const attempts = (jobs * (1 - failing ** maxAttempts)) / (1 - failing);
  const calls = (messages: number) => messages / Math.min(BATCH, batch);
  const sends = attempts / Math.min(BATCH, sendBatch);
  const batches = attempts / batch;
  // SQS moves a message that was received this often; its handler refuses it after the last attempt.
  const refusals = deaths * (MAX_RECEIVE_COUNT - 1);
  const bytesOf = (name: keyof typeof LINES) => LOG_BYTES[name] + LINES[name] * LOG_BYTES.line;
  return {
    ...{ attempts, deaths, sends, refusals },
    receives: calls(attempts) + refusals,
    deletes: calls(attempts - deaths),
    visibilities: deaths * MAX_RECEIVE_COUNT,
    invocations: batches + refusals,
    logBytes:
      attempts * bytesOf('attempt') +
      batches * bytesOf('batch') +
      sends * bytesOf('dispatch') +
      (batches + refusals) * bytesOf('invocation'),
  };
}
