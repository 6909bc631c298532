import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../handler/retry-policy.ts';
import type { StartAnswer } from '../jobs/start-answer.ts';
import type { AttemptResult } from '../outcome.ts';
import type { BatchDeps, Disposal, Invocation } from './batch.ts';
import type { Delivery } from './decide.ts';
import type { SettledRun } from './log-fields.ts';
import { runAttempt } from './run-attempt.ts';
import { settleBatch, settleOnce } from './settle-batch.ts';

/** Time from one settle to the next while jobs still run, in milliseconds. */
const SETTLE_EVERY_MS = 1_000;

/** A started job and the message that started it. */
export interface StartedJob {
  readonly delivery: Delivery;
  readonly answer: StartAnswer;
}

/** Jobs that one statement started. */
export interface Wave {
  readonly jobs: readonly StartedJob[];
  readonly policy: RetryPolicy | undefined;
  /** Resolves when the decisions about the other messages are applied; never rejects. */
  readonly decided: Promise<unknown>;
}

/** The part of a batch's run that its waves share. */
export interface WaveRun {
  readonly invocation: Invocation;
  readonly disposal: Disposal;
  /** Whether a handler still runs after its timeout; set even when a later step fails. */
  overstayed: boolean;
}

/**
 * Runs the jobs concurrently. Settles what has ended once a second while others run, and the rest at the end: a batch
 * that ends within a second costs one settle, and a process that dies loses only the outcomes of its last second.
 */
export async function runWave(deps: BatchDeps, run: WaveRun, wave: Wave): Promise<AttemptResult[]> {
  const ended = new Set<SettledRun>();
  const over = new AbortController();
  const running = Promise.all(
    wave.jobs.map(async (job) => {
      const result = await runOne(deps, wave, job);
      ended.add({ delivery: job.delivery, waitSeconds: job.answer.waitSeconds, result });
      return result;
    }),
  ).finally(() => over.abort());
  await settleWhileRunning(deps, run, { ended, decided: wave.decided, over: over.signal });
  const results = await running;
  run.overstayed ||= results.some(({ overstayed }) => overstayed);
  // Decisions must finish before any settle: otherwise a twin could find its job dead and redrive it.
  await wave.decided;
  await settleBatch(deps, run, [...ended]);
  return results;
}

function runOne(deps: BatchDeps, { policy = DEFAULT_RETRY_POLICY }: Wave, { delivery, answer }: StartedJob) {
  const { jobId, claimNo } = delivery.message;
  const { attempt: number, maxAttempts: max, traceparent } = answer;
  return runAttempt(
    { ...deps, policy },
    { jobId, claimNo, payload: answer.payload ?? 'null', number, max, traceparent },
  );
}

interface Ended {
  /** Outcomes that are not settled yet. */
  readonly ended: Set<SettledRun>;
  readonly decided: Promise<unknown>;
  /** Fires when no job runs any more. */
  readonly over: AbortSignal;
}

/** Settles one group at a time. What could not be settled remains in `ended`, for the next group or for the end. */
async function settleWhileRunning(deps: BatchDeps, run: WaveRun, { ended, decided, over }: Ended): Promise<void> {
  const { time } = deps;
  for (let pause = SETTLE_EVERY_MS; ; ) {
    await time.sleep(pause, over);
    if (over.aborted) return;
    const begun = time.now();
    if (ended.size > 0) {
      await decided;
      const group = [...ended];
      const open = new Set(await settleOnce(deps, run, group));
      for (const one of group) if (!open.has(one)) ended.delete(one);
    }
    pause = Math.max(0, SETTLE_EVERY_MS - (time.now() - begun));
  }
}
