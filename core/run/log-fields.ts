import { roughly } from '../duration.ts';
import { type HandlerAddress, handlerName, queueNameOf } from '../handler/naming.ts';
import { errorField, type LogFields } from '../log.ts';
import type { LogEvent } from '../log-table.ts';
import type { AttemptResult, SettledStatus } from '../outcome.ts';
import { startOf } from '../text.ts';
import type { BatchDeps } from './batch.ts';
import type { Delivery } from './decide.ts';

/** The field `message` has only the beginning of an error; the field `error` has all of it. */
const LONGEST_REASON = 500;

/** Returns the fields of every line that a batch logs. */
export function batchFields({ definition, queueUrl }: Pick<BatchDeps, 'definition' | 'queueUrl'>): LogFields {
  return { ...handlerFields(definition), queue: queueNameOf(queueUrl) };
}

export function handlerFields({ jobType, routingKey }: HandlerAddress): LogFields {
  return { job_type: jobType, ...(routingKey !== '' && { routing_key: routingKey }) };
}

export function deliveryFields({ message, messageId, receiveCount }: Delivery): LogFields {
  const { jobId, claimNo } = message;
  return { job_id: jobId, dispatch_id: claimNo, sqs_message_id: messageId, receive_count: receiveCount };
}

/** Returns an attempt as text for readers and as numbers for queries. */
export function attemptFields({ number, max }: { number: number; max: number }) {
  return { attempt: `${number}/${max}`, attempt_number: number, max_attempts: max };
}

function waitField(waitSeconds: number | null): LogFields {
  return waitSeconds === null ? {} : { wait_ms: Math.round(waitSeconds * 1000) };
}

/** A job that begins an attempt. */
interface Starting {
  readonly job: { readonly delivery: Delivery; readonly answer: { readonly waitSeconds: number | null } };
  readonly attempt: { readonly number: number; readonly max: number };
}

/** Logs that an attempt starts. */
export function logStart({ log, definition }: BatchDeps, { job, attempt }: Starting): void {
  log.info('job_started', {
    message: `${handlerName(definition)} started attempt ${attempt.number}/${attempt.max}.`,
    ...deliveryFields(job.delivery),
    ...attemptFields(attempt),
    ...waitField(job.answer.waitSeconds),
  });
}

/** A completed attempt and its delivery. */
export interface SettledRun {
  readonly delivery: Delivery;
  readonly result: AttemptResult;
  /** Seconds from the due time to the start. */
  readonly waitSeconds: number | null;
  /** Whether the attempt may have ended its process. */
  readonly suspect?: boolean;
}

/** Logs the outcome of an attempt and the status that follows. */
export function logOutcome(
  { log, definition }: BatchDeps,
  { delivery, result, waitSeconds }: SettledRun,
  { status, dueAt }: { readonly status: SettledStatus; readonly dueAt?: Date | null | undefined },
): void {
  const { outcome, number, max, durationMs } = result;
  const { event, words } = LINES[status];
  const again = status === 'failed' || status === 'pending';
  const delay = again && 'delaySeconds' in outcome ? outcome.delaySeconds : undefined;
  const error = 'error' in outcome ? outcome.error : undefined;
  const reason = error === undefined ? '' : `: ${startOf(`${error.name}: ${error.message}`, LONGEST_REASON)}`;
  const next = delay === undefined ? '' : ` Due again in ${roughly(delay)}.`;
  const fields = {
    message: `${handlerName(definition)} ${words} on attempt ${number}/${max}${reason}.${next}`,
    ...deliveryFields(delivery),
    ...attemptFields(result),
    status,
    duration_ms: Math.round(durationMs),
    ...waitField(waitSeconds),
    ...(error && { error: errorField(error), error_fingerprint: error.fingerprint }),
    ...(delay !== undefined && { retry_delay_s: delay }),
    ...(status === 'failed' && dueAt && { next_retry_at: dueAt }),
  };
  if (status === 'failed' || status === 'dead_letter') log.warn(event, fields);
  else log.info(event, fields);
}

const LINES = {
  succeeded: { event: 'job_succeeded', words: 'succeeded' },
  failed: { event: 'job_failed', words: 'failed' },
  dead_letter: { event: 'job_dead_letter', words: 'failed for good' },
  pending: { event: 'job_snoozed', words: 'snoozed' },
  skipped: { event: 'job_skipped', words: 'was skipped' },
  cancelled: { event: 'job_cancelled', words: 'was cancelled' },
} as const satisfies Record<SettledStatus, { event: LogEvent; words: string }>;
