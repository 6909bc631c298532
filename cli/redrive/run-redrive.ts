import { setTimeout as wait } from 'node:timers/promises';
import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { RedriveOperation } from '../../core/dead-letters/redrive-operation.ts';
import type { Backend } from '../backend/backend.ts';
import { EXIT, type ExitCode } from '../command-failure.ts';
import { interruptible } from '../screen/interrupt.ts';
import { toJson } from '../screen/json.ts';
import { count, howFar, openProgress } from '../screen/progress.ts';
import { print, printPairs, say, sayError, suggest, warn } from '../screen/terminal.ts';
import { type ExplainedJob, explainJobs, reportSkipped, skippedDocument } from './named-jobs.ts';

const STEP_PAUSE_MS = 200;
const WATCH_PAUSE_MS = 500;
const LONGEST_STILLNESS_MS = 10_000;

const ROW_IS_HELD = 'somebody holds rows of these jobs in a transaction that is open';
const DISPATCHER_IS_AWAY = 'is the dispatcher running? When idle it wakes up once a minute.';

interface Asked {
  readonly filter: PinnedFilter;
  readonly limit: number | undefined;
  readonly rate: number | undefined;
  readonly json: boolean;
}

/** Begins a redrive, sees it to its end, and tells how it went. */
export async function runRedrive(backend: Backend, { filter, limit, rate, json }: Asked): Promise<ExitCode> {
  const { end, interrupted } = await interruptible(async (signal) => {
    const id = await backend.startRedrive(filter, { rate: rate ?? null, limit });
    const work = workOffRedrive({ backend, id, rate, interrupted: signal });
    const atEnd = await work.catch((error: unknown) => {
      say(`redrive ${id} is not at its end: the dispatcher goes on with it`);
      throw error;
    });
    return { end: atEnd, interrupted: signal.aborted };
  });
  const skipped = await findSkipped(backend, end, filter);
  tell(end, skipped, json);
  return report(end, skipped, interrupted);
}

/** Jobs that were named and that this redrive did not move, as they stand now. */
async function findSkipped(backend: Backend, { id }: RedriveOperation, { jobIds: ids = [] }: PinnedFilter) {
  if (ids.length === 0) return [];
  const moved = new Set(await backend.findMoved(id, ids));
  const rest = ids.filter((one) => !moved.has(one));
  return explainJobs(backend, rest);
}

function tell(end: RedriveOperation, skipped: readonly ExplainedJob[], json: boolean): void {
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
    const by = byUs ? '' : ' by somebody else';
    sayError(`redrive ${id} is cancelled${by}: ${count(done)} of ${count(expected)} moved, and they stay moved`);
    return byUs ? EXIT.interrupted : EXIT.conflict;
  }
  suggest('npx millrace jobs list');
  if (skipped.length > 0) return reportSkipped(skipped, done);
  if (done < expected) warn(`${count(expected - done)} of ${count(expected)} were moved or given up by somebody else`);
  return done === 0 && expected > 0 ? EXIT.conflict : EXIT.done;
}

interface WorkOff {
  readonly backend: Backend;
  readonly id: string;
  /** Jobs a second: then the dispatcher does the work, and this only looks. */
  readonly rate: number | undefined;
  /** Fired when it is to be cancelled. */
  readonly interrupted: AbortSignal;
  /** After so long without a move a person is warned; default 10 s. */
  readonly stillnessMs?: number;
}

/** Sees a redrive to its end, or cancels it; answers how it stands then. */
export async function workOffRedrive(work: WorkOff): Promise<RedriveOperation> {
  const { backend, id, rate, interrupted } = work;
  // With a rate the dispatcher does the work.
  const step = rate === undefined ? backend.stepRedrive : undefined;
  const progress = openProgress();
  const stillness = watchStillness(work);
  try {
    for (let done = 0; ; ) {
      if (interrupted.aborted) await backend.cancelRedrive(id);
      const now = await (step === undefined || interrupted.aborted ? backend.readRedrive(id) : step(id));
      if (now === undefined) throw new Error(`redrive ${id} is gone: was the database restored?`);
      if (now.status !== 'running') return now;
      progress.show(`redrive ${id}: ${howFar(now.done, now.expected)}`);
      const moved = now.done > done;
      if (stillness(moved)) {
        progress.clear();
        warn(`nothing has moved for a while: ${step === undefined ? DISPATCHER_IS_AWAY : ROW_IS_HELD}`);
      }
      done = now.done;
      if (step === undefined) await pause(WATCH_PAUSE_MS, interrupted);
      else if (!moved) await pause(STEP_PAUSE_MS, interrupted);
    }
  } finally {
    progress.clear();
  }
}

/** True once for each time that nothing moved for long, given the rate. */
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
