import { type HandlerAddress, handlerName, queueNameOf } from '../handler/naming.ts';
import type { Settled } from '../jobs/settle.ts';
import { errorField, type LogFields } from '../log.ts';
import type { BatchDeps } from './batch.ts';
import type { Delivery } from './decide.ts';
import type { AttemptEnd } from './run-attempt.ts';

/** A message speaks of its error in one glance; the field `error` has all of it. */
const LONGEST_REASON = 500;

/** On every line that a batch writes. */
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

/** The classic form for people, and numbers for queries. */
export function attemptFields({ number, max }: { number: number; max: number }) {
  return { attempt: `${number}/${max}`, attempt_number: number, max_attempts: max };
}

/** An attempt that was settled. */
export interface Ended {
  readonly delivery: Delivery;
  readonly end: AttemptEnd;
  /** From due to start. */
  readonly waitSeconds: number | null;
}

/** Says how an attempt ended and what comes next. */
export function logEnding(
  { log, definition }: BatchDeps,
  { delivery, end, waitSeconds }: Ended,
  { status, dueAt }: Settled,
): void {
  const { ending, number, max, durationMs } = end;
  const again = status === 'failed' || status === 'pending';
  const event = `job_${status === 'pending' ? 'snoozed' : status}`;
  const delay = again && 'delaySeconds' in ending ? ending.delaySeconds : undefined;
  const error = 'error' in ending ? ending.error : undefined;
  const reason = error === undefined ? '' : `: ${`${error.name}: ${error.message}`.slice(0, LONGEST_REASON)}`;
  const next = delay === undefined ? '' : ` Due again in ${Number(delay.toPrecision(3))} s.`;
  const fields = {
    message: `${handlerName(definition)} ${WORDS[event] ?? event} on attempt ${number}/${max}${reason}.${next}`,
    ...deliveryFields(delivery),
    ...attemptFields(end),
    status,
    duration_ms: Math.round(durationMs),
    ...(waitSeconds !== null && { wait_ms: Math.round(waitSeconds * 1000) }),
    ...(error && { error: errorField(error), error_fingerprint: error.fingerprint }),
    ...(delay !== undefined && { retry_delay_s: delay }),
    ...(status === 'failed' && dueAt && { next_retry_at: dueAt }),
  };
  if (status === 'failed' || status === 'dead_letter') log.warn(event, fields);
  else log.info(event, fields);
}

const WORDS: Readonly<Record<string, string>> = {
  job_succeeded: 'succeeded',
  job_failed: 'failed',
  job_dead_letter: 'failed for good',
  job_snoozed: 'snoozed',
  job_skipped: 'was skipped',
  job_cancelled: 'was cancelled',
};
