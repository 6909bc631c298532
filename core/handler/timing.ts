/**
 * The durations that depend on a handler's timeout, in seconds. They satisfy: timeout + overrun + reserve < function
 * timeout < lease of a running job, and queue visibility ≥ 6 × function timeout.
 */
export interface Timing {
  /** Time until the attempt's signal aborts. */
  readonly timeout: number;
  /** Time until Lambda kills the process. */
  readonly functionTimeout: number;
  /** Time for which a started job belongs to its attempt. */
  readonly runningLease: number;
  /** Longest time of a message in SQS before rescue considers it lost. */
  readonly dispatchedLease: number;
  /** Visibility timeout of the source queue. */
  readonly visibilityTimeout: number;
}

/** Time after the signal until the attempt is settled as timed out even if the handler still runs. */
export const OVERRUN_SECONDS = 2;
/** Time that is reserved at the end of an invocation to store the outcomes. */
export const SETTLE_RESERVE_SECONDS = 5;
/**
 * Longest wait of a handler for a connection and for a statement, in milliseconds. The reserve has room for a check of
 * the old connection, a new connection and a statement.
 */
export const HANDLER_WAIT_MS = 2000;
/** SQS keeps a message of a source queue this long: 4 days. */
export const SOURCE_RETENTION_SECONDS = 345_600;
/** SQS keeps a message of a dead-letter queue this long after its send: 14 days, the maximum. */
export const DEAD_LETTER_RETENTION_SECONDS = 1_209_600;
/** A message goes to the dead-letter queue after this many receives. */
export const MAX_RECEIVE_COUNT = 5;

/** A dispatcher without a round for this time is silent; in idle `auto` mode, rounds can be nearly this far apart. */
export const DISPATCHER_SILENT_SECONDS = 120;

/** A handler that has jobs and starts none is stalled after this time. */
export const STALLED_SECONDS = 300;

const FUNCTION_MARGIN_SECONDS = 3;
export const LEASE_GRACE_SECONDS = 5;
const DISPATCHED_MARGIN_SECONDS = 30;
export const VISIBILITY_FACTOR = 6;

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
