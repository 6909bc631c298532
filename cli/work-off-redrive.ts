import { setTimeout as wait } from 'node:timers/promises';
import type { RedriveOperation } from '../core/dead-letters/redrive-operation.ts';
import type { Engine } from './backend/backend.ts';
import { howFar, openProgress } from './screen/progress.ts';
import { warn } from './screen/terminal.ts';

const STEP_PAUSE_MS = 200;
const WATCH_PAUSE_MS = 500;
const LONGEST_STILLNESS_MS = 10_000;

const ROW_IS_HELD = 'somebody holds rows of these jobs in a transaction that is open';
const DISPATCHER_IS_AWAY = 'is the dispatcher running? When idle it wakes up once a minute.';

export interface WorkOff {
  readonly engine: Engine;
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
  const { engine, id, rate, interrupted } = work;
  // With a rate the dispatcher does the work.
  const step = rate === undefined ? engine.stepRedrive : undefined;
  const progress = openProgress();
  const stillness = watchStillness(work);
  try {
    for (let done = 0; ; ) {
      if (interrupted.aborted) await engine.cancelRedrive(id);
      const now = await (step === undefined || interrupted.aborted ? engine.readRedrive(id) : step(id));
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
