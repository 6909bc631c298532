import { handlerName } from '../handler/naming.ts';
import { DISPATCHER_SILENT_SECONDS } from '../handler/timing.ts';
import type { Job } from '../job.ts';

/** The causes for which a job can wait, as one row of the database. */
export interface Surroundings {
  /** Time of the database's clock. */
  readonly now: Date;
  readonly handled: boolean;
  readonly paused_at: Date | null;
  readonly held_until: Date | null;
  readonly hold_reason: string | null;
  readonly max_in_flight: number | null;
  /** Number of its handler's jobs that are dispatched or running. */
  readonly in_flight: number;
  readonly cancel_requested: boolean;
  readonly last_round_at: Date | null;
  /** Number of the children that it waits for; null unless it waits for any. */
  readonly children: number | null;
  readonly unfinished_children: number | null;
  readonly first_unfinished: string | null;
  readonly first_unfinished_status: string | null;
  /** Number of jobs that wait for the children that it enqueued, and the first of them. */
  readonly waiting_jobs: number;
  readonly first_waiting: string | null;
}

/** How an attempt ended, by its entry in the history. */
interface Ended {
  readonly outcome: string;
  readonly errorName: string | null;
  readonly startedAt: Date | null;
}

const RETRY = 'npx millrace jobs retry';
/** Errors that end a job under every retry policy. */
const FINAL_ERRORS = ['DeadLetter', 'PayloadInvalid'];

/**
 * Returns why a job is not running or not finished, in one sentence. When it is finished: what still waits for the
 * children that it enqueued, or null.
 * @param newest the newest entry of its history
 */
export function whyWaiting(job: Job, around: Surroundings, newest?: Ended): string | null {
  const name = handlerName(job);
  const cancel = around.cancel_requested ? '; its cancellation is requested' : '';
  switch (job.status) {
    case 'pending':
    case 'failed':
      return whyNotClaimed(job, around);
    case 'dispatched':
      return `its message has been in the queue of ${name} since ${iso(job.dispatchedAt)}${cancel}`;
    case 'running':
      return `it has been running since ${iso(job.startedAt)}, attempt ${job.attempts} of ${job.maxAttempts}${cancel}`;
    case 'dead_letter':
      return `it is dead${whyEarly(job, newest)} and does not run again until it is retried: ${RETRY} ${job.id}`;
    case 'succeeded':
    case 'skipped':
    case 'cancelled':
      return whatWaits(around);
  }
}

/** Returns why no attempt followed although some were left; empty if none was left, or the error itself says so. */
function whyEarly({ attempts, maxAttempts }: Job, newest: Ended | undefined): string {
  const { errorName = null, startedAt = null } = newest?.outcome === 'dead_letter' ? newest : {};
  if (attempts >= maxAttempts || errorName === null || startedAt === null) return '';
  if (FINAL_ERRORS.includes(errorName)) return '';
  return `, because its retry policy does not retry ${errorName} (retryOn, deadLetterOn),`;
}

function whyNotClaimed(job: Job, around: Surroundings): string {
  const name = handlerName(job);
  if (around.children !== null) return whyHeld(around);
  if (!around.handled) return `no handler for ${name} is registered; the job dies after being due for 24 hours`;
  const { now, paused_at, held_until, last_round_at, in_flight, max_in_flight } = around;
  if (paused_at !== null) return `its handler ${name} has been paused since ${iso(paused_at)}`;
  if (job.dueAt !== null && job.dueAt > now) return whyNotDue(job, job.dueAt);
  if (held_until !== null && held_until > now) {
    return `its handler ${name} is held until ${iso(held_until)}: ${around.hold_reason ?? 'no reason was given'}`;
  }
  if (last_round_at === null) return 'it is due, but no dispatcher has ever run on this database';
  if (now.getTime() - last_round_at.getTime() > DISPATCHER_SILENT_SECONDS * 1000) {
    return `it is due, but no dispatcher has run since ${iso(last_round_at)}`;
  }
  if (max_in_flight !== null && in_flight >= max_in_flight) {
    return `it is due, but ${in_flight} jobs of ${name} are in flight, which is the maximum`;
  }
  return 'it is due, and the dispatcher claims it when its turn comes';
}

function whyHeld({ children, unfinished_children, first_unfinished, first_unfinished_status }: Surroundings): string {
  if (!unfinished_children) return `all of its ${children} children have finished; the dispatcher makes it due`;
  const what = first_unfinished_status === 'dead_letter' ? 'a dead letter' : first_unfinished_status;
  const first = `the first is job ${first_unfinished}, ${what}`;
  return `it waits for ${unfinished_children} of its ${children} children; ${first}`;
}

function whatWaits({ waiting_jobs, first_waiting }: Surroundings): string | null {
  if (waiting_jobs === 0) return null;
  const what = 'for the children that it enqueued';
  if (waiting_jobs === 1) return `job ${first_waiting} waits ${what}`;
  return `${waiting_jobs} jobs wait ${what}; the first is job ${first_waiting}`;
}

function whyNotDue(job: Job, dueAt: Date): string {
  if (job.status === 'failed') {
    return `attempt ${job.attempts} of ${job.maxAttempts} failed; the next one starts after ${iso(dueAt)}`;
  }
  if (dueAt > job.runAt) return `SQS refused its message, so it waits until ${iso(dueAt)}`;
  return `it is not due before ${iso(dueAt)}`;
}

function iso(time: Date | null): string {
  return time === null ? 'an unknown time' : time.toISOString();
}
