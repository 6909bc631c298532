/**
 * Every duration that hangs on a handler's timeout, derived in one place, all in seconds. The order that must hold:
 * timeout + overrun + reserve < function timeout < lease of a running job, and queue visibility ≥ 6 × function timeout.
 */
export interface Timing {
  /** When the attempt's signal fires. */
  readonly timeout: number;
  /** When Lambda kills the process. */
  readonly functionTimeout: number;
  /** How long a started job belongs to its attempt. */
  readonly runningLease: number;
  /** How long a job may lie in SQS before it is taken to be lost. */
  readonly dispatchedLease: number;
  /** Visibility timeout of the source queue. */
  readonly visibilityTimeout: number;
}

/** How long a run may go on after its signal before it is settled as timed out all the same. */
export const OVERRUN_SECONDS = 2;
/** What is kept free at the end of an invocation to write the outcomes. */
export const SETTLE_RESERVE_SECONDS = 5;
/** SQS keeps a message of a source queue this long: 4 days. */
export const SOURCE_RETENTION_SECONDS = 345_600;
/** SQS keeps a message of a dead-letter queue this long, counted from its sending: 14 days, the most it can. */
export const DEAD_LETTER_RETENTION_SECONDS = 1_209_600;
/** A message goes to the dead-letter queue after this many receives. */
export const MAX_RECEIVE_COUNT = 5;

/** A dispatcher without a round for so long is silent: in idle `auto` mode two rounds can be nearly this far apart. */
export const DISPATCHER_SILENT_SECONDS = 120;

const FUNCTION_MARGIN_SECONDS = 3;
const LEASE_GRACE_SECONDS = 5;
const DISPATCHED_MARGIN_SECONDS = 30;
const VISIBILITY_FACTOR = 6;

export function timingOf(handler: {
  timeoutSeconds: number;
  concurrency: number;
  maxInFlight: number;
  batch: { size: number; windowSeconds: number };
}): Timing {
  const timeout = handler.timeoutSeconds;
  const functionTimeout = Math.ceil(timeout + OVERRUN_SECONDS + SETTLE_RESERVE_SECONDS + FUNCTION_MARGIN_SECONDS);
  const rounds = Math.ceil(handler.maxInFlight / (handler.concurrency * handler.batch.size));
  return {
    timeout,
    functionTimeout,
    runningLease: functionTimeout + LEASE_GRACE_SECONDS,
    dispatchedLease: rounds * functionTimeout + handler.batch.windowSeconds + DISPATCHED_MARGIN_SECONDS,
    visibilityTimeout: VISIBILITY_FACTOR * functionTimeout + handler.batch.windowSeconds,
  };
}
