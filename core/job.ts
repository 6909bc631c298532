/** The state of a job. */
export type JobStatus =
  /** The job waits for the dispatcher, and is due at `runAt` or at the end of a snooze. */
  | 'pending'
  /** A dispatch has claimed the job, and its message is in SQS or about to be sent. */
  | 'dispatched'
  /** A handler is running an attempt. */
  | 'running'
  /** The last attempt failed, and the next one is due at `nextRetryAt`. */
  | 'failed'
  /** The job is dead: it waits for an operator to redrive or discard it. */
  | 'dead_letter'
  /** An attempt returned, and the job is finished. */
  | 'succeeded'
  /** The handler found nothing left to do, and the job is finished. */
  | 'skipped'
  /** A cancel request or the handler cancelled the job, and the job is finished. */
  | 'cancelled';

/** The statuses of unfinished jobs, in the order of a job's life. */
export const LIVE_STATUSES = [
  'pending',
  'dispatched',
  'running',
  'failed',
  'dead_letter',
] as const satisfies JobStatus[];

/** The statuses of finished jobs. The event of the same name counts the jobs that reach one. */
export const FINISHED_STATUSES = ['succeeded', 'skipped', 'cancelled'] as const satisfies JobStatus[];

/** All statuses, in the order of a job's life. */
export const STATUSES = [...LIVE_STATUSES, ...FINISHED_STATUSES] as const satisfies JobStatus[];

/** The largest id of a job or of any other row: the largest bigint of Postgres. */
export const LARGEST_ID = 2n ** 63n - 1n;

/** Returns whether this is the id of a row as text. */
export function isId(text: string): boolean;
export function isId(value: unknown): value is string;
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value) && BigInt(value) <= LARGEST_ID;
}

/** A row of `millrace.jobs`, column for column; pg returns a bigint as text. */
export interface JobRow {
  id: string;
  job_type: string;
  routing_key: string;
  payload: unknown;
  status: JobStatus;
  priority: number;
  attempts: number;
  max_attempts: number;
  run_at: Date;
  start_by: Date | null;
  next_retry_at: Date | null;
  due_at: Date | null;
  claim_no: string | null;
  lease_expires_at: Date | null;
  dispatched_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  created_at: Date;
  updated_at: Date;
  unique_key: string | null;
  group_key: string | null;
  last_error: string | null;
  result: unknown;
  progress: JobProgress | null;
}

/** A job. Ids are decimal strings, because they exceed the exact range of a JavaScript number. */
export interface Job {
  readonly id: string;
  readonly jobType: string;
  readonly routingKey: string;
  readonly payload: unknown;
  readonly status: JobStatus;
  readonly priority: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly runAt: Date;
  /** Latest start of the first attempt; null for none, and after an attempt that counts. */
  readonly startBy: Date | null;
  readonly nextRetryAt: Date | null;
  readonly dueAt: Date | null;
  readonly claimNo: string | null;
  readonly leaseExpiresAt: Date | null;
  readonly dispatchedAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly uniqueKey: string | null;
  readonly groupKey: string | null;
  readonly lastError: string | null;
  readonly result: unknown;
  /** The last report of the attempt; null for none, and for a job that succeeded. */
  readonly progress: JobProgress | null;
}

/** How far an attempt is, as its handler reported it. */
export interface JobProgress {
  /** The finished part of the work, from 0 to 1; null when it is unknown. */
  readonly fraction: number | null;
  /** What the handler does; null for no text. */
  readonly text: string | null;
  /** The time of the report, ISO 8601. */
  readonly at: string;
}

/** Converts a row to a job; no other function does. */
export function toJob(row: JobRow): Job {
  return {
    id: row.id,
    jobType: row.job_type,
    routingKey: row.routing_key,
    payload: row.payload,
    status: row.status,
    priority: row.priority,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    runAt: row.run_at,
    startBy: row.start_by,
    nextRetryAt: row.next_retry_at,
    dueAt: row.due_at,
    claimNo: row.claim_no,
    leaseExpiresAt: row.lease_expires_at,
    dispatchedAt: row.dispatched_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    uniqueKey: row.unique_key,
    groupKey: row.group_key,
    lastError: row.last_error,
    result: row.result,
    progress: toProgress(row.progress),
  };
}

/** jsonb has its own order of members. */
function toProgress(stored: JobProgress | null): JobProgress | null {
  return stored && { fraction: stored.fraction, text: stored.text, at: stored.at };
}
