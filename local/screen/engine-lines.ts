import type { LogEvent } from '../../core/log-table.ts';
import { oneLine } from '../../core/text.ts';
import type { LogLine } from './log-line.ts';
import { count, errorText } from './mirror-lines.ts';

const LONGEST_REASON = 300;
const REPEATED = 'retried when the lease expires';

/** What happened to a message that started no attempt, by its step. */
const STEPS: Readonly<Record<string, string>> = {
  acknowledge: 'deleted a message from an earlier attempt: the job has moved on',
  leave: 'left a message in its queue: the job is in use',
  bounce: 'moves its message to the dead-letter queue',
  adopt: 'moves its message to the dead-letter queue',
  redrive: 'redriven by an SQS move task',
  release: 'sent again: its message was in the queue of another handler',
};

type Sentence = (log: LogLine) => string;

const SENTENCES: Partial<Record<LogEvent, Sentence>> = {
  message_not_started: ({ step }) => STEPS[String(step)] ?? `did not start a message: ${step}`,
  message_unexpected: (log) => `unexpected message: ${reason(log)}`,
  message_unreadable: (log) => `cannot read a message: ${reason(log)}`,
  uncaught_error: (log) => `an error that no handler caught ends the process: ${error(log)}`,
  batch_blocked: (log) => `the thread of a batch is blocked: ${reason(log)}`,
  watchdog_failed: (log) => `blocked batches of this process are found only when their leases expire: ${error(log)}`,
  batch_failed: (log) => `cannot run a batch, which SQS delivers again: ${error(log)}`,
  start_failed: (log) => `cannot start ${jobs(log)} yet: ${error(log)}`,
  secret_unreadable: (log) => `cannot read the secret ${log.secret} again, and uses its earlier value: ${error(log)}`,
  progress_invalid: (log) => `invalid progress of attempt ${log.attempt}: ${reason(log)}`,
  progress_failed: (log) => `cannot store the progress of ${jobs(log)}: ${error(log)}`,
  settle_failed: (log) => `cannot store the outcome of ${jobs(log)} yet: ${error(log)}`,
  settle_refused: (log) => `the database refused the outcome of ${jobs(log)} (${log.job_ids}): ${error(log)}`,
  settle_given_up: (log) => `stored no outcome of ${jobs(log)} (${log.job_ids}), ${REPEATED}: ${reason(log)}`,
  outcome_not_ours: (log) => `the outcome ${log.outcome} came too late: ${reason(log)}`,
  released_unstarted: (log) => releaseSentence(log),
  send_refused: (log) => `claim ${log.dispatch_id}: ${unsent(log)}: ${reason(log)}`,
  rescued: (log) => `${count(log.attempts, 'lost attempt')} ended, ${count(log.releases, 'lost message')} sent again`,
  jobs_skipped: (log) => `${jobs(log)}${ofHandler(log)} skipped: not started in time`,
  children_finished: (log) => `all children of job ${log.job_id} have finished, and it is due`,
  redriven: (log) => `redrive ${log.redrive_id}: moved ${log.jobs} of ${log.of}`,
  redrive_done: (log) => `redrive ${log.redrive_id} is done: moved ${log.jobs}`,
  operation_advanced: (log) =>
    `operation ${log.operation_id}, ${log.operation}: changed ${log.jobs}${log.of ? ` of ${log.of}` : ''}`,
  operation_done: (log) => `operation ${log.operation_id}, ${log.operation}, is done: changed ${log.jobs}`,
  operation_failed: (log) => `operation ${log.operation_id}, ${log.operation}, cannot change jobs yet: ${error(log)}`,
  redrive_failed: (log) => `redrive ${log.redrive_id} cannot move jobs yet: ${error(log)}`,
  schedules_enqueued: (log) => `enqueued ${jobs(log)} of schedules`,
  schedules_deployed: (log) => `changed schedules: ${log.schedules}`,
  schedules_failed: (log) => `the schedules cannot be checked yet: ${error(log)}`,
  schedule_failed: (log) => `schedule ${log.schedule} cannot enqueue its job yet: ${error(log)}`,
  schedule_invalid: (log) => `schedule ${log.schedule} enqueues nothing: ${reason(log)}`,
  registry_waiting: (log) => `the handlers cannot be registered yet: ${reason(log)}`,
  round_failed: (log) => `a round failed: ${error(log)}`,
  maintain_failed: (log) => `cannot maintain the tables yet: ${error(log)}`,
  handlers_stalled: (log) => reason(log),
  job_types_failing: (log) => reason(log),
  no_handler: (log) => reason(log),
  unhandled_jobs_dead: (log) => `${jobs(log)} died after 24 hours without a handler`,
  upkeep_failed: (log) => `upkeep step ${log.upkeep_step} failed, and runs again: ${error(log)}`,
  request_failed: (log) => `request ${log.request_id} failed: ${error(log)}`,
  nudge_failed: (log) => `cannot wake ${log.function}: ${error(log)}`,
};

function ofHandler({ job_type: jobType, routing_key: key }: LogLine): string {
  const name = [jobType, key].filter((part) => typeof part === 'string').join('.');
  return name === '' ? '' : ` of ${name}`;
}

/** Describes an event of the engine; undefined for an event that is printed elsewhere, or that a handler logs. */
export function engineSentence(log: LogLine): string | undefined {
  return SENTENCES[log.event as LogEvent]?.(log);
}

const FOLD_MS = 5_000;
const HOUR_MS = 3_600_000;

/** How lines about the same thing become one. */
export interface Repetition {
  readonly key: string;
  /** Time for which further lines are only counted. */
  readonly foldMs: number;
  /** Returns the text for this many further lines; undefined if they contain nothing new. */
  readonly more: (further: number) => string | undefined;
}

/** Returns how lines like this one are folded; undefined for events that are shown one by one. */
export function repetitionOf(log: LogLine): Repetition | undefined {
  const { event, step } = log;
  // Each invocation of the dispatcher or the mirror reports it again.
  if (event === 'handlers_stalled' || event === 'job_types_failing') {
    return { key: `${event} ${log.job_type}`, foldMs: HOUR_MS, more: () => undefined };
  }
  if (event === 'no_handler') return { key: reason(log), foldMs: HOUR_MS, more: () => undefined };
  if (event !== 'message_not_started') return undefined;
  return { key: String(step), foldMs: FOLD_MS, more: (further) => `${further} more: ${engineSentence(log)}` };
}

function jobs(log: LogLine): string {
  return count(log.jobs, 'job');
}

function reason(log: LogLine): string {
  return oneLine(String(log.reason ?? 'no reason given'), LONGEST_REASON);
}

function error(log: LogLine): string {
  return oneLine(errorText(log), LONGEST_REASON);
}

/** Describes claims that were released before an attempt started; the messages of the others become visible again. */
function releaseSentence(log: LogLine): string {
  const { released } = log;
  if (released === 0) return `could not release ${jobs(log)} that had not started: back in the queue`;
  if (released === log.jobs) return `released ${jobs(log)} that had not started, to be sent again`;
  return `released ${released} of ${jobs(log)} that had not started, to be sent again; others stay in the queue`;
}

/** Messages that were not sent, by how SQS answered. */
const UNSENT = {
  refused: 'refused',
  rejected: 'rejected permanently',
  unknown: 'unanswered',
  no_queue: 'without a queue',
};

function unsent(log: LogLine): string {
  const parts = Object.entries(UNSENT).flatMap(([field, words]) =>
    typeof log[field] === 'number' ? [`${count(log[field], 'message')} ${words}`] : [],
  );
  return parts.join(', ') || 'messages not sent';
}
