import type { HandlerAddress } from '../handler/naming.ts';
import type { RetryPolicy } from '../handler/retry-policy.ts';
import type { JobStatus } from '../job.ts';

/** One message that requests the start of its job. */
export interface StartRequest {
  readonly epoch: string;
  readonly jobId: string;
  readonly claimNo: string;
  readonly messageId: string;
  /** SQS SentTimestamp, milliseconds. */
  readonly sentAt: number;
}

/** What start did with the job that a message names. */
export type StartVerdict =
  /** An attempt has begun, and the handler must run it. */
  | 'started'
  /** The last attempt may have ended its process, so the job may start only without other jobs of the batch. */
  | 'suspect'
  /** A cancel request cancelled the job before its start. */
  | 'cancelled'
  /** The time by which the job had to start is over, and the job is skipped. */
  | 'late'
  /** The job could be started, but another transaction has locked its row. */
  | 'busy'
  /** The message does not start the job; from `row`, `decide` determines what to do with the message. */
  | 'none';

/** The answer to one start request. */
export interface StartAnswer {
  readonly verdict: StartVerdict;
  /** The row before the start; null when no live job has this id. */
  readonly row: LiveRow | null;
  /** Whether this database ever issued the job's id. */
  readonly issued: boolean;
  /** Whether the message has this database's epoch; if not, it is from another database or from before a restore. */
  readonly native: boolean;
  /** The payload of a started job as JSON text, which keeps every digit until the check; null when it is too large. */
  readonly payload: string | null;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Seconds from the due time to the start; null unless this call started the attempt. */
  readonly waitSeconds: number | null;
  /** The trace that enqueued the job. */
  readonly traceparent: string | null;
}

/** The columns that the decision about a message depends on. */
export interface LiveRow extends HandlerAddress {
  readonly status: JobStatus;
  readonly claimNo: string | null;
  readonly messageId: string | null;
  /** SQS SentTimestamp, milliseconds. */
  readonly sentAt: number | null;
  readonly requestId: string | null;
  /** Messages of the job that were lost since its last start; absent where it is not known. */
  readonly losses?: number | null;
}

export interface StartBatch extends HandlerAddress {
  readonly requestId: string;
  readonly requests: readonly StartRequest[];
  /** Whether to start jobs whose last attempt may have ended its process too. */
  readonly suspects: boolean;
  /** Lease of a running job by the definition that runs it, in seconds; the registry's applies if it is longer. */
  readonly leaseSeconds: number;
  /** Whether to read the rows only and start nothing. */
  readonly lookOnly?: boolean;
}

export interface Started {
  /** One answer for each request, in the order of the requests. */
  readonly answers: readonly StartAnswer[];
  /** The policy in the registry; undefined when the handler is not registered. */
  readonly retryPolicy: RetryPolicy | undefined;
}

/** A started attempt. */
export interface Begun {
  /** The payload as JSON text; null when it is too large. */
  readonly payload: string | null;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly retryPolicy: RetryPolicy;
  /** Seconds from the due time to the start. */
  readonly waitSeconds: number;
  /** The trace that enqueued the job. */
  readonly traceparent: string | null;
}
