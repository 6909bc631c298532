import { setTimeout as wait } from 'node:timers/promises';
import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { RedriveOperation } from '../../core/dead-letters/redrive-operation.ts';
import type { Backend } from '../backend/backend.ts';
import { EXIT, type ExitCode } from '../command-failure.ts';
import { interruptible } from '../screen/interrupt.ts';
import { toJson } from '../screen/json.ts';
import { count, howFar, openProgress } from '../screen/progress.ts';
import { print, printError, printMessage, printPairs, suggest, warn } from '../screen/terminal.ts';
import { type ExplainedJob, explainJobs, reportSkipped, skippedDocument } from './named-jobs.ts';

const STEP_PAUSE_MS = 200;
const WATCH_PAUSE_MS = 500;
const LONGEST_STILLNESS_MS = 10_000;

const ROW_IS_HELD = 'an open transaction locks rows of these jobs';
const DISPATCHER_IS_AWAY = 'is the dispatcher running? When idle, it wakes up within two minutes.';

interface Asked {
  readonly filter: PinnedFilter;
  readonly limit: number | undefined;
  readonly rate: number | undefined;
  readonly json: boolean;
}

/** Starts a redrive, waits until it ends, and reports the result. */
export async function runRedrive(backend: Backend, { filter, limit, rate, json }: Asked): Promise<ExitCode> {
  const { end, interrupted } = await interruptible(async (signal) => {
    const id = await backend.startRedrive(filter, { rate: rate ?? null, limit });
    const work = workOffRedrive({ backend, id, rate, interrupted: signal });
    const atEnd = await work.catch((error: unknown) => {
      printMessage(`redrive ${id} has not finished: the dispatcher continues it`);
      throw error;
    });
    return { end: atEnd, interrupted: signal.aborted };
  });
  const skipped = await findSkipped(backend, end, filter);
  printAnswer(end, skipped, json);
  return report(end, skipped, interrupted);
}

/** Returns the named jobs that this redrive did not move, with their current state. */
async function findSkipped(backend: Backend, { id }: RedriveOperation, { jobIds: ids = [] }: PinnedFilter) {
  if (ids.length === 0) return [];
  const moved = new Set(await backend.findMoved(id, ids));
  const rest = ids.filter((one) => !moved.has(one));
  return explainJobs(backend, rest);
}

function printAnswer(end: RedriveOperation, skipped: readonly ExplainedJob[], json: boolean): void {
  const { id, status, done: moved, expected, skipped: left, ratePerSecond: rate } = end;
  if (json) {
    const named = { skipped: skipped.length, skipped_jobs: skippedDocument(skipped) };
    print(toJson({ redrive: id, status, moved, expected, left, rate, ...named }));
    return;
  }
  printPairs([
    ['redrive', id],
    ['moved', moved],
    ['skipped', skipped.length || null],
    ['left dead', left || null],
  ]);
}

function report(end: RedriveOperation, skipped: readonly ExplainedJob[], byUs: boolean): ExitCode {
  const { id, status, done, expected } = end;
  if (status === 'cancelled') {
    const by = byUs ? '' : ' by another user';
    printError(
      `redrive ${id} was cancelled${by}: ${count(done)} of ${count(expected)} moved; jobs already moved are not moved back`,
    );
    return byUs ? EXIT.interrupted : EXIT.conflict;
  }
  suggest('npx millrace jobs list');
  if (skipped.length > 0) return reportSkipped(skipped, done);
  if (done < expected)
    warn(`${count(expected - done)} of ${count(expected)} were moved or discarded by another operation`);
  return done === 0 && expected > 0 ? EXIT.conflict : EXIT.done;
}

interface WorkOff {
  readonly backend: Backend;
  readonly id: string;
  /** Jobs per second. With a rate, the dispatcher moves the jobs, and the command only watches. */
  readonly rate: number | undefined;
  /** Fires when the redrive should be cancelled. */
  readonly interrupted: AbortSignal;
  /** How long nothing may move before the command warns; default 10 s. */
  readonly stillnessMs?: number;
  /** Interval of progress lines in a file or pipe; default 10 s. */
  readonly progressMs?: number | undefined;
}

/** Waits until a redrive ends, or cancels it; returns its final state. */
export async function workOffRedrive(work: WorkOff): Promise<RedriveOperation> {
  const { backend, id, rate, interrupted } = work;
  // With a rate, the dispatcher moves the jobs.
  const step = rate === undefined ? backend.stepRedrive : undefined;
  const progress = openProgress({ inFile: rate !== undefined, everyMs: work.progressMs });
  const stillness = watchStillness(work);
  try {
    for (let done = 0; ; ) {
      if (interrupted.aborted) await backend.cancelRedrive(id);
      const now = await (step === undefined || interrupted.aborted ? backend.readRedrive(id) : step(id));
      if (now === undefined) throw new Error(`redrive ${id} no longer exists: was the database restored?`);
      if (now.status !== 'running' && now.status !== 'paused') return now;
      progress.show(
        `redrive ${id}: ${now.status === 'paused' ? 'paused, ' : ''}${howFar(now.done, now.expected)}${endOf(now)}`,
      );
      const moved = now.done > done;
      if (stillness(moved)) {
        progress.clear();
        warn(`no job has moved for a while: ${step === undefined ? DISPATCHER_IS_AWAY : ROW_IS_HELD}`);
      }
      done = now.done;
      if (step === undefined) await pause(WATCH_PAUSE_MS, interrupted);
      else if (!moved) await pause(STEP_PAUSE_MS, interrupted);
    }
  } finally {
    progress.clear();
  }
}

/** Returns when a redrive with a rate will end if it is not delayed; empty without a rate. */
function endOf({ done, expected, ratePerSecond }: RedriveOperation): string {
  if (ratePerSecond === null) return '';
  const end = new Date(Date.now() + ((expected - done) / ratePerSecond) * 1000);
  return `, ends at about ${end.toISOString().slice(11, 19)}Z`;
}

/** Returns a function that is true once per period in which nothing moved for too long, given the rate. */
function watchStillness({ rate, stillnessMs = LONGEST_STILLNESS_MS }: WorkOff): (moved: boolean) => boolean {
  const patience = Math.max(stillnessMs, rate === undefined ? 0 : 3000 / rate);
  let since = performance.now();
  let told = false;
  return (moved) => {
    if (moved) {
      since = performance.now();
      told = false;
    }
    const still = !told && performance.now() - since > patience;
    told ||= still;
    return still;
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined);
}
