import { FollowUps } from '../../enqueue/follow-ups.ts';
import { PayloadInvalid } from '../../errors.ts';
import { type HandlerDefinition, NO_RESULT, type RunContext, resultsById } from '../../handler/handler.ts';
import { parsePayload } from '../../handler/payload.ts';
import type { AttemptResult, Outcome } from '../../outcome.ts';
import { isInstance } from '../../thrown.ts';
import { traceAttempt } from '../../tracing.ts';
import {
  type Attempt,
  type AttemptDeps,
  contextOf,
  failedOutcome,
  outcomeOf,
  refusedOutcome,
  thrownOutcome,
  withinTimeout,
} from './run-attempt.ts';

/** The dependencies of attempts whose handler has `runBatch`. */
export interface TogetherDeps extends AttemptDeps {
  readonly runBatch: NonNullable<HandlerDefinition['runBatch']>;
}

/** Runs attempts with one call of `runBatch`, and returns their results in the same order. Never throws. */
export async function runTogether(deps: TogetherDeps, attempts: readonly Attempt[]): Promise<AttemptResult[]> {
  const { outcome, timedOut, ...ran } = await withinTimeout(deps, async (signal) => {
    const all = execute(deps, attempts, signal);
    const { jobType } = deps.definition;
    return Promise.all(
      attempts.map((attempt, index) =>
        traceAttempt({ ...attempt, jobType }, async () => (await all)[index] as Outcome),
      ),
    );
  });
  return attempts.map((attempt, index) => ({
    outcome: outcome?.[index] ?? failedOutcome(deps, attempt, timedOut),
    ...{ number: attempt.number, max: attempt.max },
    ...ran,
  }));
}

/** A job whose payload matches the schema. */
interface Opened {
  readonly attempt: Attempt;
  readonly context: RunContext<never>;
  readonly followUps: FollowUps;
}

async function execute(deps: TogetherDeps, attempts: readonly Attempt[], signal: AbortSignal): Promise<Outcome[]> {
  const opened = await Promise.all(attempts.map((attempt) => open(deps, attempt, signal)));
  const jobs = opened.filter((one) => 'context' in one);
  const ended = jobs.length === 0 ? new Map<Attempt, Outcome>() : await call(deps, jobs, signal);
  return opened.map((one) => ('context' in one ? (ended.get(one.attempt) as Outcome) : one));
}

/** Returns the job, or the outcome of one with an invalid payload, which `runBatch` does not get. */
async function open(deps: AttemptDeps, attempt: Attempt, signal: AbortSignal): Promise<Opened | Outcome> {
  try {
    const payload = await parsePayload(attempt.payload, deps.definition.payload);
    const followUps = new FollowUps();
    return { attempt, context: contextOf(deps, attempt, { payload, signal, followUps }), followUps };
  } catch (thrown) {
    if (isInstance(thrown, PayloadInvalid)) return refusedOutcome(deps, thrown);
    return thrownOutcome(deps, attempt, { thrown, signal });
  }
}

async function call(deps: TogetherDeps, jobs: readonly Opened[], signal: AbortSignal): Promise<Map<Attempt, Outcome>> {
  const outcomes = new Map<Attempt, Outcome>();
  try {
    const returned: unknown = await deps.runBatch(jobs.map(({ context }) => context));
    const results = resultsById(returned);
    for (const { attempt, followUps } of jobs) {
      const value = results.has(attempt.jobId) ? results.get(attempt.jobId) : new Error(NO_RESULT);
      outcomes.set(attempt, await outcomeOf(deps, attempt, { value, followUps }));
    }
  } catch (thrown) {
    for (const { attempt } of jobs) outcomes.set(attempt, thrownOutcome(deps, attempt, { thrown, signal }));
  } finally {
    for (const { followUps } of jobs) followUps.end();
  }
  return outcomes;
}
