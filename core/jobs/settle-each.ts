import { describeFailure, messageOf } from '../failure.ts';
import { jobsFields, type Log, processLog } from '../log.ts';
import type { Outcome, Settled, Settlement } from '../outcome.ts';
import { errorCode, isLockTimeout, isStatementError } from '../postgres/statement-errors.ts';

export interface SettleOptions {
  /** Settles only attempts of this Lambda request; null for a rescue. */
  readonly requestId: string | null;
  /** Receives one event for all outcomes that the database refused. Default: the log of the process. */
  readonly log?: Log;
  /** Called with the error of every outcome that the database refused, and the id of its job if it was tried alone. */
  readonly onRefused?: (error: unknown, jobId?: string) => void;
}

/** How many more waits for locks a call has time for. */
export interface LockWaits {
  left: number;
}

/** A job whose outcome the database refused, and the error. */
interface Refusal {
  readonly jobId: string;
  readonly error: unknown;
}

type Settle = (settlement: Settlement) => Promise<Settled[]>;

/**
 * Settles row by row. Logs one event for all refusals: with a full disk or a failing trigger, every row is refused for
 * the same reason.
 */
export async function settleEach(
  settlements: readonly Settlement[],
  options: SettleOptions & { readonly waits?: LockWaits },
  settle: Settle,
): Promise<Settled[]> {
  const { log = processLog, waits } = options;
  const done: Settled[] = [];
  const refusals: Refusal[] = [];
  const onRefused = (jobId: string, error: unknown) => {
    refusals.push({ jobId, error });
    if (waits && isLockTimeout(error)) waits.left -= 1;
    options.onRefused?.(error, jobId);
  };
  try {
    for (const one of settlements) {
      if (waits && waits.left <= 0) break;
      done.push(...(await settleOne(one, settle, onRefused)));
    }
  } finally {
    const [first] = refusals;
    if (first) {
      const sqlstate = [...new Set(refusals.map(({ error }) => errorCode(error)))].join(' ');
      const fields = jobsFields([...new Set(refusals.map(({ jobId }) => jobId))]);
      log.error('settle_refused', { ...fields, sqlstate, error: first.error });
    }
  }
  return done;
}

/**
 * Stores the outcome even if its result, its stack or the jobs that it enqueues cannot be stored. If the database
 * refuses this too, the row stays unchanged and the other rows are not affected.
 */
async function settleOne(
  settlement: Settlement,
  settle: Settle,
  onRefused: (jobId: string, error: unknown) => void,
): Promise<Settled[]> {
  let { outcome } = settlement;
  for (let tries = 0; tries < 2; tries++) {
    try {
      return await settle({ ...settlement, outcome });
    } catch (error) {
      if (!isStatementError(error)) throw error;
      onRefused(settlement.jobId, error);
      if (!isUnstorable(error) && !isForbidden(outcome, error)) return [];
      outcome = plain(outcome, error);
    }
  }
  return [];
}

/** Returns whether Postgres, or a trigger (P0), refused a value rather than a lock or the statement. */
function isUnstorable(error: unknown): boolean {
  return /^(22|23|54|P0)/.test(errorCode(error) ?? '');
}

/** Returns whether a trigger on the jobs that a success enqueues did what its login may not do, or is wrong. */
function isForbidden(outcome: Outcome, error: unknown): boolean {
  return outcome.kind === 'succeeded' && outcome.enqueued !== undefined && /^42/.test(errorCode(error) ?? '');
}

/** Returns the outcome without what the database may have refused. A success without its jobs would lose them. */
function plain(outcome: Outcome, refusal: unknown): Outcome {
  if (outcome.kind !== 'succeeded') {
    return { ...outcome, error: { ...outcome.error, message: 'the error could not be stored', stack: null } };
  }
  return outcome.enqueued === undefined ? { kind: 'succeeded', result: null } : enqueueRefused(outcome, refusal);
}

/** Returns the failure of a success whose jobs the database refused; any other outcome as it is. */
export function enqueueRefused(outcome: Outcome, refusal: unknown): Outcome {
  if (outcome.kind !== 'succeeded' || outcome.enqueued === undefined) return outcome;
  const reason = isLockTimeout(refusal) ? 'another transaction keeps a lock on their unique_key' : messageOf(refusal);
  const error = new Error(`the jobs of this success could not be enqueued: ${reason}`);
  const { delaySeconds } = outcome.enqueued;
  return { kind: 'failed', error: { ...describeFailure(error), name: 'EnqueueRefused', stack: null }, delaySeconds };
}
