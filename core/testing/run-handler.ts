import { type Duration, seconds } from '../duration.ts';
import { checkHandler } from '../enqueue/enqueue-options.ts';
import { SettingError } from '../errors.ts';
import { ATTEMPTS_BOUNDS } from '../handler/check-definition.ts';
import type { HandlerDefinition, PayloadInput } from '../handler/definition.ts';
import { handlerName } from '../handler/naming.ts';
import { type PayloadSchema, payloadJson } from '../handler/payload.ts';
import { checkKeys } from '../handler/policy-fields.ts';
import { whole } from '../handler/whole.ts';
import { openLog } from '../log.ts';
import type { Outcome } from '../outcome.ts';
import { LatestProgress } from '../run/attempt/progress.ts';
import { type Attempt, runAttempt } from '../run/attempt/run-attempt.ts';
import { systemTime, type Time } from '../time.ts';
import { type GivenValues, refuseUnnamed, valuesFor } from './given-values.ts';
import { type HandlerRun, type RunOutcome, withResult } from './handler-run.ts';
import { observe } from './observed-handler.ts';

/** The circumstances of the attempt; all have defaults. */
export interface RunHandlerOptions extends GivenValues {
  /** Number of this attempt. Default 1. */
  readonly attempt?: number;
  /** Largest number of attempts. Default: that of the handler. */
  readonly maxAttempts?: number;
  /** Id of the job, a decimal string. Default `1`. */
  readonly jobId?: string;
  /** Time of the attempt, from which `nextAttemptAt` is computed. Default: the present time. */
  readonly now?: Date;
  /** Aborts the signal after this time instead of the handler's timeout, as if the timeout had passed. */
  readonly abortAfter?: Duration;
  /** Returns the number in [0, 1) that selects a delay within the jitter. Default 0: the shortest delay. */
  readonly random?: () => number;
}

const SILENT = openLog(() => undefined);
const OPTIONS = ['attempt', 'maxAttempts', 'jobId', 'now', 'abortAfter', 'random', 'settings', 'secrets'];

/** What one attempt did, and what it reported. */
export interface ReportedRun extends HandlerRun {
  /** The last report of the handler; null without one. */
  readonly progress: { readonly fraction: number | null; readonly text: string | null } | null;
  /** The jobs that `context.enqueue` and `enqueueChildren` insert with this success; the one that waits is the last. */
  readonly enqueued: readonly { readonly handler: string; readonly payload: unknown }[];
}

/**
 * Runs one attempt of a handler in this process, as a deployment does: the payload passes through JSON and the schema,
 * the timeout aborts the signal, and the retry policy determines the next attempt. It requires no database.
 * @throws PayloadInvalid when the payload cannot be stored. One that only the schema refuses is an outcome.
 * @throws SettingError that names the option, or the setting or secret without a value
 */
export async function runHandler<Schema extends PayloadSchema>(
  handler: HandlerDefinition<Schema>,
  payload: PayloadInput<Schema>,
  options: RunHandlerOptions = {},
): Promise<ReportedRun> {
  checkHandler(handler, '');
  checkKeys('runHandler(options)', options, OPTIONS);
  const { now = new Date(), random = () => 0 } = options;
  refuseUnnamed([handler as HandlerDefinition], options);
  const values = valuesFor(handler as HandlerDefinition, options);
  const observed = observe(handler as HandlerDefinition);
  const attempt = attemptOf(handler, payloadJson(payload), options);
  const time = options.abortAfter === undefined ? systemTime : earlier(seconds(options.abortAfter, 'abortAfter'));
  const deps = { definition: observed.definition, policy: handler.retry, time, log: SILENT, random, values };
  const { outcome } = await runAttempt(deps, attempt);
  const run = {
    ...judge(outcome, attempt, now),
    log: observed.lines,
    progress: attempt.progress.take() ?? null,
    enqueued: enqueuedBy(outcome),
  };
  const result = outcome.kind === 'succeeded' && outcome.result !== null ? JSON.parse(outcome.result) : null;
  return withResult(run, { handler: handlerName(handler), result, cause: observed.thrown() });
}

function attemptOf(handler: { maxAttempts: number }, payload: string, options: RunHandlerOptions): Attempt {
  const max = whole('maxAttempts', options.maxAttempts ?? handler.maxAttempts, ...ATTEMPTS_BOUNDS);
  const number = whole('attempt', options.attempt ?? 1, 1, max);
  const { jobId = '1', now } = options;
  if (now !== undefined && Number.isNaN(now.getTime())) throw new SettingError('now', 'a valid Date', now);
  return { jobId, claimNo: '1', payload, number, max, traceparent: null, progress: new LatestProgress() };
}

interface EnqueuedRecord {
  readonly job_type: string;
  readonly routing_key: string;
  readonly payload: unknown;
}

function enqueuedBy(outcome: Outcome): ReportedRun['enqueued'] {
  const groups = outcome.kind === 'succeeded' ? (outcome.enqueued?.groups ?? []) : [];
  return groups.flatMap((members) => {
    const { jobs, then } = JSON.parse(`{${members}}`) as { jobs: EnqueuedRecord[]; then?: EnqueuedRecord };
    return [...jobs, ...(then ? [then] : [])].map(({ job_type: jobType, routing_key: routingKey, payload }) => {
      return { handler: handlerName({ jobType, routingKey }), payload };
    });
  });
}

/** Decides what becomes of the job, as millrace.settle does. */
function judge(outcome: Outcome, { number, max }: Attempt, now: Date) {
  const isLast = outcome.kind === 'failed' && number >= max;
  const kind: RunOutcome = isLast ? 'dead_letter' : outcome.kind;
  const delay = !isLast && 'delaySeconds' in outcome ? outcome.delaySeconds : null;
  return {
    outcome: kind,
    error: 'error' in outcome ? outcome.error : null,
    nextDelaySeconds: delay,
    nextAttemptAt: delay === null ? null : new Date(now.getTime() + delay * 1000),
  };
}

/** A clock on which the first wait, for the timeout, is this long. The handler still has the usual time to end. */
function earlier(waitSeconds: number): Time {
  let waits = 0;
  return {
    now: systemTime.now,
    sleep: (ms, signal) => systemTime.sleep(waits++ === 0 ? waitSeconds * 1000 : ms, signal),
  };
}
