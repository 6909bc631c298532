import { setTimeout as wait } from 'node:timers/promises';
import { readJobsOfRequests } from '../core/jobs/rescue.ts';
import type { Database } from '../core/postgres/database.ts';
import { recordRunning } from './cut-off.ts';
import type { Runner } from './lambda/runner.ts';
import type { RunningJobs } from './lambda/specs.ts';
import { type AwaitedJob, waitingLine } from './screen/waiting-line.ts';
import { isUnattended, type StopRequests } from './stop-requests.ts';

/**
 * How long the dispatcher and the API may finish their work. Jobs have until their timeout, unless no terminal is left
 * in which they could be ended.
 */
const DRAIN_MS = 35_000;
const REPEAT_MS = 5_000;
const END_AGAIN_MS = 1_000;
/** The database may be gone; the line then shows less. */
const LONGEST_READ_MS = 1_000;
const MOST_READ = 10;

interface DrainDeps extends StopRequests {
  readonly db: Pick<Database, 'keyed'>;
  /** The data folder. */
  readonly data: string;
  readonly printLine: (line: string) => void;
  /** Makes the registered run of the dispatcher stop after its current round; never rejects. */
  readonly endDispatcher?: () => Promise<void>;
}

type Draining = Pick<Runner, 'runningJobs' | 'close'>;

/** Stores what runs at each request to stop, because the process may be killed before the runner is closed. */
export function recordAtStop<R extends Draining>(runner: R, { data, stop, halt }: DrainDeps): R {
  for (const signal of [stop, halt]) {
    signal.addEventListener('abort', () => recordRunning(data, runner.runningJobs()), { once: true });
  }
  return runner;
}

/** Closes a runner after its jobs have finished, and prints at once and every few seconds what it waits for. */
export async function drain(runner: Draining, deps: DrainDeps): Promise<void> {
  const closed = new AbortController();
  const reporting = report(runner, deps, AbortSignal.any([closed.signal, deps.halt]));
  // A dispatcher that was invoked just before registers its run only now, and would run until the end of its window.
  const ending = setInterval(() => void deps.endDispatcher?.(), END_AGAIN_MS);
  await runner.close({ graceMs: DRAIN_MS, finishJobs: !isUnattended(deps.stop) }).finally(() => clearInterval(ending));
  closed.abort();
  await reporting;
}

async function report(runner: Draining, deps: DrainDeps, ended: AbortSignal): Promise<void> {
  for (;;) {
    const running = runner.runningJobs();
    if (running.length === 0 || ended.aborted) return;
    recordRunning(deps.data, running);
    const line = await describe(running, deps.db);
    if (ended.aborted) return;
    if (line !== undefined) deps.printLine(line);
    await wait(REPEAT_MS, undefined, { signal: ended }).catch(() => undefined);
  }
}

/** Returns the line for running invocations; undefined if all of their jobs have ended. */
async function describe(running: readonly RunningJobs[], db: DrainDeps['db']): Promise<string | undefined> {
  const seconds = (Math.max(...running.map(({ deadlineMs }) => deadlineMs)) - Date.now()) / 1000;
  const jobs = await readJobs(running, db);
  const count = running.reduce((sum, { jobIds }) => sum + jobIds.length, 0);
  if (jobs === undefined) return waitingLine([], count, seconds);
  // Only if more run than were read is the number of messages the better count.
  const known = jobs.length < MOST_READ ? jobs.length : Math.max(count, jobs.length);
  return known === 0 ? undefined : waitingLine(jobs, known, seconds);
}

async function readJobs(running: readonly RunningJobs[], db: DrainDeps['db']): Promise<AwaitedJob[] | undefined> {
  const ids = running.map(({ requestId }) => requestId);
  const late = wait(LONGEST_READ_MS, undefined, { ref: false });
  return Promise.race([readJobsOfRequests(db, ids, MOST_READ).catch(() => undefined), late]);
}
