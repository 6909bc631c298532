import type { HandlerAddress } from '../handler/naming.ts';
import type { RetryPolicy } from '../handler/retry-policy.ts';
import type { JobStatus } from '../job.ts';
import type { Database } from '../postgres/database.ts';
import { lookAtOthers } from './look-at-others.ts';
import { type Begun, startClaimed } from './start-claimed.ts';

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

/**
 * Begins an attempt for every message whose claim is the row's; counts it. Answers one verdict a request, in order.
 * Requests must name each (job, claim) of one epoch once. A row that cannot be started is answered as `busy`.
 */
export async function start(db: Database, batch: StartBatch): Promise<Started> {
  const { requests } = batch;
  if (requests.length === 0) return { answers: [], retryPolicy: undefined };
  const begun = batch.lookOnly ? new Map<StartRequest, Begun>() : await startClaimed(db, batch);
  const others = await lookAtOthers(db, batch, begun);
  const answers = requests.map((request) => {
    const one = begun.get(request);
    return one ? begunAnswer(batch, request, one) : (others.answers.get(request) ?? UNKNOWN);
  });
  return { answers, retryPolicy: begun.values().next().value?.retryPolicy ?? others.retryPolicy };
}

/** Nothing is known of its job: the message stays where it is. */
const UNKNOWN: StartAnswer = {
  verdict: 'busy',
  row: null,
  issued: false,
  native: true,
  payload: null,
  attempt: 0,
  maxAttempts: 0,
  waitSeconds: null,
  traceparent: null,
};

function begunAnswer({ jobType, routingKey }: StartBatch, { claimNo }: StartRequest, begun: Begun): StartAnswer {
  const { payload, attempt, maxAttempts, waitSeconds, traceparent } = begun;
  const before: LiveRow = {
    status: 'dispatched',
    claimNo,
    jobType,
    routingKey,
    messageId: null,
    sentAt: null,
    requestId: null,
  };
  const known = { row: before, issued: true, native: true } as const;
  return { verdict: 'started', ...known, payload, attempt, maxAttempts, waitSeconds, traceparent };
}
