import { FollowUps } from '../../enqueue/follow-ups.ts';
import { PayloadInvalid, TimedOut } from '../../errors.ts';
import { failureLabels } from '../../failure.ts';
import { fingerprintInHandler } from '../../fingerprint.ts';
import { choiceOf } from '../../handler/chosen-outcome.ts';
import type { HandlerDefinition, RunContext } from '../../handler/handler.ts';
import { openHandlerLog } from '../../handler/handler-log.ts';
import { type HandlerAddress, handlerName } from '../../handler/naming.ts';
import { parsePayload } from '../../handler/payload.ts';
import { clampDelay, isRetryable, type RetryPolicy, retryDelay } from '../../handler/retry-policy.ts';
import { OVERRUN_SECONDS } from '../../handler/timing.ts';
import type { Log } from '../../log.ts';
import type { AttemptResult, Outcome } from '../../outcome.ts';
import type { NamedValues } from '../../settings/named-values.ts';
import { isInstance } from '../../thrown.ts';
import { Latch, type Time } from '../../time.ts';
import { traceAttempt } from '../../tracing.ts';
import { attemptFields } from '../log-fields.ts';
import { describe } from './described.ts';
import type { LatestProgress } from './progress.ts';
import { isThenable, resultJson } from './result.ts';

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
  /** Receives what the handler reports. */
  readonly progress: LatestProgress;
}

export interface AttemptDeps {
  readonly definition: HandlerDefinition;
  readonly policy: RetryPolicy;
  readonly time: Time;
  readonly log: Log;
  /** Returns a number in [0, 1) for jitter. */
  readonly random: () => number;
  /** What the handler's definition names; default: nothing. */
  readonly values?: NamedValues | undefined;
}

/** Runs one attempt within its timeout and returns its outcome. Never throws. */
export async function runAttempt(deps: AttemptDeps, attempt: Attempt): Promise<AttemptResult> {
  const traced = { ...attempt, jobType: deps.definition.jobType };
  const work = (signal: AbortSignal) => traceAttempt(traced, () => execute(deps, attempt, signal));
  const { outcome, timedOut, ...ran } = await withinTimeout(deps, work);
  return {
    outcome: outcome ?? failedOutcome(deps, attempt, timedOut),
    ...{ number: attempt.number, max: attempt.max },
    ...ran,
  };
}

/** How work within the timeout of a handler ended. `outcome` is undefined if it did not end in time. */
export interface TimedWork<Outcomes> {
  readonly outcome: Outcomes | undefined;
  readonly timedOut: TimedOut | undefined;
  readonly overstayed: boolean;
  readonly durationMs: number;
}

/** Runs `work`, which never throws, with a signal that fires at the timeout, and waits until shortly after it. */
export async function withinTimeout<Outcomes>(
  { definition, time }: AttemptDeps,
  work: (signal: AbortSignal) => Promise<Outcomes>,
): Promise<TimedWork<Outcomes>> {
  const begun = time.now();
  const over = new AbortController();
  const finished = new Latch();
  const run = work(over.signal).finally(() => finished.release());
  await time.sleep(definition.timeoutSeconds * 1000, finished);
  // An error is expensive because of its stack, so it is created only when required.
  const timedOut = finished.aborted ? undefined : new TimedOut(definition.timeoutSeconds);
  if (timedOut) over.abort(timedOut);
  await time.sleep(OVERRUN_SECONDS * 1000, finished);
  const overstayed = !finished.aborted;
  const outcome = timedOut && overstayed ? undefined : await run;
  return { outcome, timedOut, overstayed, durationMs: time.now() - begun };
}

async function execute(deps: AttemptDeps, attempt: Attempt, signal: AbortSignal): Promise<Outcome> {
  let called = false;
  const followUps = new FollowUps();
  try {
    const payload = await parsePayload(attempt.payload, deps.definition.payload);
    called = true;
    const returned: unknown = deps.definition.run(contextOf(deps, attempt, { payload, signal, followUps }));
    // What cannot be awaited, such as a revoked proxy, is a result: the work is done.
    return await outcomeOf(deps, attempt, { value: isThenable(returned) ? await returned : returned, followUps });
  } catch (thrown) {
    if (!called && isInstance(thrown, PayloadInvalid)) return refusedOutcome(deps, thrown);
    return thrownOutcome(deps, attempt, { thrown, signal });
  } finally {
    followUps.end();
  }
}

/** What a handler returned for one job, and what it enqueued. */
export interface Returned {
  readonly value: unknown;
  readonly followUps: FollowUps;
}

/** Returns the outcome of a job whose handler returned. */
export async function outcomeOf(deps: AttemptDeps, attempt: Attempt, { value, followUps }: Returned): Promise<Outcome> {
  const outcome = chosen(deps, attempt, value);
  if (outcome !== undefined) return outcome;
  // A handler does not return an error to report success.
  if (isInstance(value, Error)) return failedOutcome(deps, attempt, value);
  const collected = await followUps.close();
  const enqueued = collected && { ...collected, delaySeconds: policyDelay(deps, attempt) };
  return { kind: 'succeeded', result: resultJson(value), ...(enqueued && { enqueued }) };
}

/** Returns the outcome of a job whose handler threw. After the signal, an error is usually a consequence of it. */
export function thrownOutcome(
  deps: AttemptDeps,
  attempt: Attempt,
  { thrown, signal }: { readonly thrown: unknown; readonly signal: AbortSignal },
): Outcome {
  return chosen(deps, attempt, thrown) ?? failedOutcome(deps, attempt, signal.aborted ? signal.reason : thrown);
}

export function contextOf(
  deps: AttemptDeps,
  attempt: Attempt,
  given: { payload: unknown; signal: AbortSignal; followUps: FollowUps },
): RunContext<never> {
  const { followUps } = given;
  const log = deps.log.child({ job_id: attempt.jobId, ...attemptFields(attempt) });
  return {
    payload: given.payload as never,
    jobId: attempt.jobId,
    attempt: { number: attempt.number, max: attempt.max, isLast: attempt.number >= attempt.max },
    signal: given.signal,
    log: openHandlerLog(log),
    settings: deps.values?.settings ?? {},
    secrets: deps.values?.secrets ?? {},
    progress: (fraction, text) => {
      const reason = attempt.progress.report(fraction, text);
      if (reason !== undefined) log.warn('progress_invalid', { reason });
    },
    enqueue: (handler, payload, options) => followUps.enqueue(handler, payload, options),
    enqueueChildren: (children, options) => followUps.enqueueChildren(children, options),
  };
}

/** Returns the outcome of an attempt that threw this. */
export function failedOutcome(deps: AttemptDeps, attempt: Attempt, thrown: unknown): Outcome {
  const own = isInstance(thrown, TimedOut) ? ownPrint(thrown, deps.definition) : {};
  const error = { ...describe(thrown, deps.values), ...own };
  if (!isRetryable(deps.policy, failureLabels(thrown))) return { kind: 'dead_letter', error };
  return { kind: 'failed', error, delaySeconds: policyDelay(deps, attempt) };
}

/**
 * Returns the outcome of a job with an invalid payload, which no later attempt can parse either. The same error from
 * `run` is about another payload, such as that of a follow-up, and is an error like any other.
 */
export function refusedOutcome({ definition, values }: AttemptDeps, refusal: PayloadInvalid): Outcome {
  // The faults after the first differ from payload to payload.
  const { message } = new PayloadInvalid(refusal.field, refusal.faults[0]?.message ?? '');
  const own = ownPrint({ name: refusal.name, message }, definition);
  return { kind: 'dead_letter', error: { ...describe(refusal, values), ...own } };
}

/** Returns the fingerprint of an error that Millrace itself raised. */
function ownPrint({ name, message }: { name: string; message: string }, handler: HandlerAddress) {
  return { fingerprint: fingerprintInHandler({ name, message }, handlerName(handler)) };
}

/** Returns the outcome that the handler chose by throwing or returning `value`; undefined if it chose none. */
function chosen(deps: AttemptDeps, attempt: Attempt, value: unknown): Outcome | undefined {
  const choice = choiceOf(value);
  if (choice === undefined) return undefined;
  const { kind } = choice;
  const error = describe(value, deps.values);
  if (kind !== 'retry_after' && kind !== 'snoozed') return { kind, error };
  const delaySeconds = clampDelay(choice.delaySeconds ?? policyDelay(deps, attempt));
  return { kind: kind === 'snoozed' ? kind : 'failed', error, delaySeconds };
}

function policyDelay(deps: AttemptDeps, attempt: Attempt): number {
  return retryDelay(deps.policy, attempt.number, deps.random());
}
