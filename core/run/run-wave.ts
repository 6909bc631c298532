import { setImmediate as nextTurn } from 'node:timers/promises';
import { TimedOut } from '../errors.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../handler/retry-policy.ts';
import { LatestProgress, storeProgress } from './attempt/progress.ts';
import type { AttemptDeps } from './attempt/run-attempt.ts';
import type { BatchDeps, Disposal } from './batch.ts';
import type { Delivery } from './decide.ts';
import { endEarly, type OpenJob, postpone, type StartedJob } from './end-early.ts';
import type { SettledRun } from './log-fields.ts';
import { runInTurn, type TurnRun } from './run-in-turn.ts';
import { settleBatch, settleOnce } from './settle-batch.ts';
import type { TakeOverReport } from './take-over.ts';
import { currentOwner } from './uncaught-errors.ts';
import { DEBUGGER_FRAMES } from './watchdog.ts';

/** Time from one settle to the next while jobs still run, in milliseconds. */
const SETTLE_EVERY_MS = 1_000;

/** Jobs that one statement started. */
export interface Wave {
  readonly jobs: readonly StartedJob[];
  readonly policy: RetryPolicy | undefined;
  /** Resolves when the decisions about the other messages are applied; never rejects. */
  readonly decided: Promise<unknown>;
}

/** The part of a batch's run that its waves share. */
export interface WaveRun extends TurnRun {
  readonly disposal: Disposal;
  /** Aborts when the present wave has nothing to wait for. */
  over: AbortController;
}

/** The jobs of a wave whose outcomes are not stored, by their messages. */
type Open = Map<Delivery, OpenJob>;

/**
 * Runs the jobs concurrently, and returns how long each ran, in milliseconds. Settles what has ended once a second
 * while others run, and the rest at the end: a batch that ends within a second costs one settle, and a process that
 * dies loses only the outcomes of its last second.
 */
export async function runWave(deps: BatchDeps, run: WaveRun, wave: Wave): Promise<number[]> {
  const own = { ...deps, policy: wave.policy ?? DEFAULT_RETRY_POLICY };
  const open: Open = new Map(wave.jobs.map((job) => [job.delivery, openJob(own, job)]));
  run.over = new AbortController();
  const unwatch = watchWave(own, run, open);
  const durations: number[] = [];
  const attempts = runInTurn(own, run, [...open.values()], durations);
  const { over } = run;
  void attempts.catch(() => undefined).then(() => over.abort());
  await settleWhileRunning(deps, run, { open, decided: wave.decided });
  // Node reports rejections that no code awaits at the end of a turn of its loop.
  await nextTurn();
  // Decisions must finish before any settle: otherwise a twin could find its job dead and redrive it.
  await wave.decided;
  const left = [...open.values()].filter(({ entered }) => !entered);
  const ends = run.uncaught ? endEarly(own, [...open.values()], run.uncaught) : [...ended(open), ...postpone(left)];
  // What a job that has ended left behind can block the thread until here.
  await settleBatch(deps, run, ends).finally(unwatch);
  if (!run.uncaught) await attempts;
  return durations;
}

function openJob({ time }: AttemptDeps, job: StartedJob): OpenJob {
  const { jobId, claimNo } = job.delivery.message;
  const { payload, attempt: number, maxAttempts: max, traceparent } = job.answer;
  const progress = new LatestProgress();
  const attempt = { jobId, claimNo, payload, number, max, traceparent, progress };
  return { job, attempt, entered: false, begun: time.now(), result: undefined };
}

function ended(open: Open): SettledRun[] {
  return [...open.values()].flatMap(({ job, result }) =>
    result === undefined ? [] : [{ delivery: job.delivery, waitSeconds: job.answer.waitSeconds, result }],
  );
}

interface Running {
  readonly open: Open;
  readonly decided: Promise<unknown>;
}

/**
 * Settles one group at a time, and stores what the other jobs report. What could not be settled remains in `open`, for
 * the next group or for the end.
 */
async function settleWhileRunning(deps: BatchDeps, run: WaveRun, { open, decided }: Running): Promise<void> {
  const { time } = deps;
  for (let pause = SETTLE_EVERY_MS; ; ) {
    await time.sleep(pause, run.over.signal);
    if (run.over.signal.aborted) return;
    const begun = time.now();
    const group = ended(open);
    if (group.length > 0) {
      await decided;
      const left = await settleOnce(deps, run, group);
      const jobs = left.map(({ delivery }) => [delivery, open.get(delivery) as OpenJob] as const);
      for (const { delivery } of group) open.delete(delivery);
      // What could not be settled comes last, so that it does not keep the others from their turn.
      for (const [delivery, job] of jobs) open.set(delivery, job);
    }
    await storeReports(deps, run, open);
    pause = Math.max(0, SETTLE_EVERY_MS - (time.now() - begun));
  }
}

/** Stores the newest report of each running job. A report is an ornament: without the database, it is dropped. */
async function storeReports({ db, log }: BatchDeps, { invocation }: WaveRun, open: Open): Promise<void> {
  const reported = [...open.values()].flatMap(({ attempt: { jobId, claimNo, progress }, result }) => {
    const report = result === undefined ? progress.take() : undefined;
    return report ? [{ jobId, claimNo, ...report }] : [];
  });
  if (reported.length === 0) return;
  await storeProgress(db, invocation.awsRequestId, reported).catch((error: unknown) =>
    log.warn('progress_failed', { error, jobs: reported.length }),
  );
}

/**
 * Watches a wave: if a job blocks the thread past its timeout, another thread stores the outcomes.
 * Returns a function that ends the watch.
 */
function watchWave(deps: AttemptDeps & BatchDeps, run: WaveRun, open: Open): (() => void) | undefined {
  if (open.size === 0 || run.uncaught) return undefined;
  const { timeoutSeconds } = deps.definition;
  return deps.watchdog?.watch((busySeconds): TakeOverReport => {
    // This runs in the middle of the code that blocks the thread, so the error has the stack of that code, and
    // `currentOwner` returns its attempt.
    const error = new TimedOut(timeoutSeconds, busySeconds);
    error.stack = (error.stack ?? '').replace(DEBUGGER_FRAMES, '');
    return {
      ...{ requestId: run.invocation.awsRequestId, busySeconds },
      remainingMs: run.invocation.getRemainingTimeInMillis(),
      visible: [...run.disposal.visible],
      runs: endEarly(deps, [...open.values()], { owner: currentOwner(), error }),
    };
  });
}
