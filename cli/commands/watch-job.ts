import { setTimeout as wait } from 'node:timers/promises';
import type { JobStatus } from '../../core/job.ts';
import type { ShownAttempt } from '../../core/look/show-job.ts';
import { oneLine } from '../../core/text.ts';
import type { Backend, SeenJob } from '../backend/backend.ts';
import { printMessage } from '../screen/terminal.ts';
import { attemptLine, entryName } from './jobs-show.ts';

const POLL_MS = 200;
const LONGEST_ERROR = 300;
const ENDED: readonly JobStatus[] = ['succeeded', 'skipped', 'cancelled', 'dead_letter'];
/** How a job can end without an error of an attempt; `last_error` has the reason. */
const UNTRIED: readonly JobStatus[] = ['skipped', 'cancelled'];

/** Prints each step of a job until it ends; returns the job, or undefined when it no longer exists. */
export async function watchJob(backend: Backend, id: string): Promise<SeenJob | undefined> {
  let status: JobStatus | undefined;
  let told: string | undefined;
  for (;;) {
    const shown = await backend.showJob(id);
    if (shown === undefined) return undefined;
    const { attempts = [] } = shown;
    const known = attempts.findIndex((attempt) => keyOf(attempt) === told);
    const fresh = attempts.slice(0, known === -1 ? attempts.length : known).reverse();
    for (const line of news(shown, fresh, status)) printMessage(line);
    if (shown.job.status !== status) printReason(shown);
    told = attempts[0] && keyOf(attempts[0]);
    status = shown.job.status;
    if (hasEnded(shown)) {
      printEnd(shown);
      return shown;
    }
    await wait(POLL_MS);
  }
}

export function hasEnded({ job }: SeenJob): boolean {
  return ENDED.includes(job.status);
}

/** Returns whether a job did what it was enqueued for: the exit code of each command that waits for it. */
export function hasSucceeded({ job }: SeenJob): boolean {
  return job.status === 'succeeded';
}

/** Prints why a job was skipped or cancelled, or which job waits for its children. */
export function printEnd({ job, waiting }: SeenJob): void {
  const { id, status, lastError } = job;
  if (UNTRIED.includes(status) && lastError)
    printMessage(`job ${id} was ${status}: ${oneLine(lastError, LONGEST_ERROR)}`);
  if (status === 'succeeded' && waiting) printMessage(waiting);
}

/** Prints why a job waits, unless the dispatcher will claim it in its next round. */
export function printReason({ job, waiting }: SeenJob): void {
  const isClaimed = job.status !== 'pending' && job.status !== 'failed';
  if (!isClaimed && waiting && !waiting.startsWith('it is due, and')) printMessage(`job ${job.id} waits: ${waiting}`);
}

/** Distinguishes the entries of a history, of which only the newest are shown. */
function keyOf({ attempt, outcome, finishedAt }: ShownAttempt): string {
  return `${attempt} ${outcome} ${finishedAt.getTime()}`;
}

/**
 * Returns the new lines in the order of the events. The job is read before its attempts, so an attempt that was running
 * then may have ended since.
 */
function news(shown: SeenJob, fresh: readonly ShownAttempt[], before: JobStatus | undefined): string[] {
  const { status, startedAt, maxAttempts } = shown.job;
  const lineOf = (attempt: ShownAttempt) => `${entryName(attempt, maxAttempts)} ${attemptLine(cleaned(attempt))}`;
  const step = status === before ? [] : [`${status}${status === 'succeeded' ? tookOf(shown) : ''}`];
  const runsSince = status === 'running' ? startedAt : null;
  const later = fresh.filter(({ finishedAt }) => runsSince !== null && finishedAt >= runsSince);
  const earlier = fresh.filter((attempt) => !later.includes(attempt));
  return [...earlier.map(lineOf), ...step, ...later.map(lineOf)];
}

/** Removes control characters: the error of a handler could otherwise control the terminal. */
function cleaned({ errorName, errorMessage, ...attempt }: ShownAttempt): ShownAttempt {
  const clean = (text: string | null) => text && oneLine(text, LONGEST_ERROR);
  return { ...attempt, errorName: clean(errorName), errorMessage: clean(errorMessage) };
}

function tookOf({ job }: SeenJob): string {
  const { startedAt, finishedAt, attempts, maxAttempts } = job;
  const took = startedAt && finishedAt ? `, ${finishedAt.getTime() - startedAt.getTime()} ms` : '';
  return ` (attempt ${attempts}/${maxAttempts}${took})`;
}
