import type { HandlerAddress } from '../handler/naming.ts';
import type { RetryPolicy } from '../handler/retry-policy.ts';
import type { JobStatus } from '../job.ts';

/** One message that asks for its job to be started. */
export interface StartRequest {
  readonly epoch: string;
  readonly jobId: string;
  readonly claimNo: string;
  readonly messageId: string;
  /** SQS SentTimestamp, milliseconds. */
  readonly sentAt: number;
}

/** What the database knows of the job that a message names, after start has done what it could. */
export interface StartAnswer {
  /** `started`: run it. `suspect`: could be started, alone. `cancelled`: it was, by request. Else see `row`. */
  readonly verdict: 'started' | 'suspect' | 'cancelled' | 'busy' | 'none';
  /** How the row stood before; null when no such live job exists. */
  readonly row: LiveRow | null;
  /** The job's id was issued once by this database. */
  readonly issued: boolean;
  /** The message carries this database's epoch; else it is of another life or another database. */
  readonly native: boolean;
  /** Only when started: the payload as JSON text, so that no digit is lost before it is checked. */
  readonly payload: string | null;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** From due to start; null when it did not begin just now. */
  readonly waitSeconds: number | null;
  /** The trace that enqueued the job. */
  readonly traceparent: string | null;
}

/** The columns by which a message is judged. */
export interface LiveRow extends HandlerAddress {
  readonly status: JobStatus;
  readonly claimNo: string | null;
  readonly messageId: string | null;
  /** Milliseconds, as `StartRequest.sentAt`. */
  readonly sentAt: number | null;
  readonly requestId: string | null;
}

export interface StartBatch extends HandlerAddress {
  readonly requestId: string;
  readonly requests: readonly StartRequest[];
  /** Also start jobs whose last attempt ended by rescue. */
  readonly suspects: boolean;
  /** Start nothing, only tell how the jobs stand. */
  readonly lookOnly?: boolean;
}

export interface Started {
  /** One a request, in order. */
  readonly answers: readonly StartAnswer[];
  /** The policy as the registry has it; undefined when the handler is not registered. */
  readonly retryPolicy: RetryPolicy | undefined;
}

/** An attempt that has begun. */
export interface Begun {
  /** The payload as JSON text. */
  readonly payload: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly retryPolicy: RetryPolicy;
  /** From due to start. */
  readonly waitSeconds: number;
  /** The trace that enqueued it. */
  readonly traceparent: string | null;
}
