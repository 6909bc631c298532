import { PayloadInvalid, TimedOut } from '../errors.ts';
import { describeFailure, failureLabels, isInstance } from '../failure.ts';
import { Cancel, ChosenOutcome, DeadLetter, RetryAfter, Skip, Snooze } from '../handler/chosen-outcome.ts';
import type { HandlerDefinition, RunContext } from '../handler/handler.ts';
import { parsePayload } from '../handler/payload.ts';
import { clampDelay, isRetryable, type RetryPolicy, retryDelay } from '../handler/retry-policy.ts';
import { OVERRUN_SECONDS } from '../handler/timing.ts';
import type { Log } from '../log.ts';
import type { AttemptResult, Outcome } from '../outcome.ts';
import type { Time } from '../time.ts';
import { traceAttempt } from '../tracing.ts';
import { attemptFields } from './log-fields.ts';
import { resultJson } from './result.ts';

/** A started attempt, ready to run. */
export interface Attempt {
  readonly jobId: string;
  readonly claimNo: string;
  /** The payload as JSON text; null when it is too large, and the job dies unrun. */
  readonly payload: string | null;
  readonly number: number;
  readonly max: number;
  /** The trace that enqueued the job. */
  readonly traceparent: string | null;
}

export interface AttemptDeps {
  readonly definition: HandlerDefinition;
  readonly policy: RetryPolicy;
  readonly time: Time;
  readonly log: Log;
  /** Returns a number in [0, 1) for jitter. */
  readonly random: () => number;
}

/** The abort reason: without one, each abort would create an exception with a stack. */
const DONE = 'done';

/** Runs one attempt within its timeout and returns its outcome. Never throws. */
export async function runAttempt(deps: AttemptDeps, attempt: Attempt): Promise<AttemptResult> {
  const { definition, time } = deps;
  const begun = time.now();
  const over = new AbortController();
  const finished = new AbortController();
  const traced = { ...attempt, jobType: definition.jobType };
  const run = traceAttempt(traced, () => execute(deps, attempt, over.signal)).finally(() => finished.abort(DONE));
  await time.sleep(definition.timeoutSeconds * 1000, finished.signal);
  // An error is expensive because of its stack, so it is created only when required.
  const timedOut = finished.signal.aborted ? undefined : new TimedOut(definition.timeoutSeconds);
  if (timedOut) over.abort(timedOut);
  await time.sleep(OVERRUN_SECONDS * 1000, finished.signal);
  const overstayed = !finished.signal.aborted;
  const outcome = timedOut && overstayed ? failed(deps, attempt, timedOut) : await run;
  return { outcome, overstayed, number: attempt.number, max: attempt.max, durationMs: time.now() - begun };
}

async function execute(deps: AttemptDeps, attempt: Attempt, signal: AbortSignal): Promise<Outcome> {
  try {
    const payload = await parsePayload(attempt.payload, deps.definition.payload);
    const value = await deps.definition.run(contextOf(deps, attempt, { payload, signal }));
    return isInstance(value, ChosenOutcome)
      ? chosen(deps, attempt, value)
      : { kind: 'succeeded', result: resultJson(value) };
  } catch (thrown) {
    if (isInstance(thrown, ChosenOutcome)) return chosen(deps, attempt, thrown);
    // An error after the signal is usually a consequence of the signal.
    return failed(deps, attempt, signal.aborted ? signal.reason : thrown);
  }
}

function contextOf(
  deps: AttemptDeps,
  attempt: Attempt,
  given: { payload: unknown; signal: AbortSignal },
): RunContext<never> {
  return {
    payload: given.payload as never,
    jobId: attempt.jobId,
    attempt: { number: attempt.number, max: attempt.max },
    signal: given.signal,
    log: deps.log.child({ job_id: attempt.jobId, ...attemptFields(attempt) }),
  };
}

function failed(deps: AttemptDeps, attempt: Attempt, thrown: unknown): Outcome {
  const error = describeFailure(thrown);
  const retryable = !isInstance(thrown, PayloadInvalid) && isRetryable(deps.policy, failureLabels(thrown));
  if (!retryable) return { kind: 'dead_letter', error };
  return { kind: 'failed', error, delaySeconds: retryDelay(deps.policy, attempt.number, deps.random()) };
}

function chosen(deps: AttemptDeps, attempt: Attempt, outcome: ChosenOutcome): Outcome {
  const error = describeFailure(outcome);
  if (outcome instanceof RetryAfter) return { kind: 'failed', error, delaySeconds: clampDelay(outcome.delaySeconds) };
  if (outcome instanceof Snooze) return { kind: 'snoozed', error, delaySeconds: clampDelay(outcome.delaySeconds) };
  if (outcome instanceof Skip) return { kind: 'skipped', error };
  if (outcome instanceof Cancel) return { kind: 'cancelled', error };
  if (outcome instanceof DeadLetter) return { kind: 'dead_letter', error };
  return failed(deps, attempt, outcome);
}
