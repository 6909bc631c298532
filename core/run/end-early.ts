import { describeFailure } from '../failure.ts';
import type { StartAnswer } from '../jobs/start-answer.ts';
import type { AttemptResult, Outcome } from '../outcome.ts';
import { attempt } from '../thrown.ts';
import { crashOutcome } from './attempt/crash-outcome.ts';
import { describe } from './attempt/described.ts';
import { type Attempt, type AttemptDeps, failedOutcome } from './attempt/run-attempt.ts';
import type { Delivery } from './decide.ts';
import type { SettledRun } from './log-fields.ts';
import { hasRaised, type Owner } from './uncaught-errors.ts';

/** A started job and the message that started it. */
export interface StartedJob {
  readonly delivery: Delivery;
  readonly answer: StartAnswer;
}

/** A started job whose outcome is not stored. */
export interface OpenJob {
  readonly job: StartedJob;
  readonly attempt: Attempt;
  /** Whether its run was called. */
  entered: boolean;
  /** When it started, on the clock of `Time`. */
  begun: number;
  /** Undefined while it runs. */
  result: AttemptResult | undefined;
}

/** Why a process has to end while jobs run. */
export interface EarlyEnd {
  /** The attempt whose code is at fault; undefined when unknown. It may be settled already. */
  readonly owner: Owner | undefined;
  /** The error of that job. */
  readonly error: unknown;
}

/**
 * Returns an outcome for every open job of a process that has to end. The job at fault fails with the error. The others
 * keep the outcome that they have, or are due again at once without using an attempt. If no job can be charged, all
 * running jobs are, as after any other crash. If the owner is already settled, none is charged, and each runs alone in
 * its next attempt: the process ends, so what the owner left behind cannot follow them.
 */
export function endEarly(deps: AttemptDeps, open: readonly OpenJob[], { owner, error }: EarlyEnd): SettledRun[] {
  const guilty = open.find(({ attempt }) => attempt === owner);
  const running = open.filter(({ entered, result }) => entered && result === undefined);
  const spared = owner !== undefined;
  const reason = describe(error, deps.values);
  const words = `${reason.name}: ${reason.message}`;
  const outcomeOf = (one: OpenJob): Outcome => {
    if (one === guilty) return charged(one, () => failedOutcome(deps, one.attempt, error));
    if (one.result) return one.result.outcome;
    if (spared || !one.entered) return endedBy(guilty, words);
    const message = `the process ended because of an error that no known job raised: ${words}`;
    const crashed = { ...deps.definition, attempts: one.attempt.number };
    return crashOutcome(deps.policy, crashed, { message }, deps.random());
  };
  const endOf = (one: OpenJob): SettledRun => ({
    delivery: one.job.delivery,
    waitSeconds: one.job.answer.waitSeconds,
    result: {
      outcome: outcomeOf(one),
      ...{ number: one.attempt.number, max: one.attempt.max },
      ...{ durationMs: one.result?.durationMs ?? deps.time.now() - one.begun, overstayed: false },
    },
    suspect: one === guilty || hasRaised(one.attempt) || (guilty === undefined && running.includes(one)),
  });
  // A job without an outcome remains running, and is rescued: the others must not lose theirs because of it.
  return open.flatMap((one) => attempt(() => endOf(one)) ?? []);
}

/** Returns the outcome of jobs that never ran because others used the time of their invocation: they are due again. */
export function postpone(open: readonly OpenJob[]): SettledRun[] {
  const outcome = interrupted('the jobs before it in its batch, with large payloads, left no time to run it');
  return open.map(({ job, attempt: { number, max } }) => ({
    delivery: job.delivery,
    waitSeconds: job.answer.waitSeconds,
    result: { outcome, number, max, durationMs: 0, overstayed: false },
  }));
}

/** A failure that the job at fault already has is the first one, and remains. */
function charged({ result }: OpenJob, failed: () => Outcome): Outcome {
  const failure = result?.outcome.kind === 'failed' || result?.outcome.kind === 'dead_letter';
  return failure ? result.outcome : failed();
}

function endedBy(guilty: OpenJob | undefined, words: string): Outcome {
  const culprit = guilty === undefined ? 'a job that had ended' : `job ${guilty.attempt.jobId}`;
  return interrupted(`the process ended because of ${culprit}: ${words}`);
}

/**
 * Returns the outcome of an attempt that ended without its own fault: the job is due at once, and uses no attempt.
 * Without a stack: it would be that of another job, or of Millrace.
 */
export function interrupted(message: string): Outcome {
  const error = { ...describeFailure(new Error(message)), name: 'Interrupted', stack: null };
  return { kind: 'snoozed', error, delaySeconds: 0 };
}
