import { type Log, openLog } from '../log.ts';
import type { DrainedRun } from './drained-run.ts';
import type { RunOutcome } from './handler-run.ts';

/** The end of an attempt, as the engine logs it. */
type Ending = Pick<DrainedRun, 'attempt' | 'outcome' | 'error' | 'nextDelaySeconds'>;

/** The log of the engine, from which a drain reads how attempts ended. */
export interface EngineLog {
  readonly log: Log;
  /** Returns the end of the last attempt, once. */
  takeEnding(): Ending | undefined;
  /** @throws Error for an error that the engine only logs, because a deployment would try again */
  refuseFaults(): void;
}

interface EngineLine {
  readonly level: string;
  readonly event: string;
  readonly status?: string;
  readonly attempt_number?: number;
  readonly retry_delay_s?: number | null;
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
  readonly error_fingerprint?: string;
  readonly reason?: string;
}

const ENDINGS = ['job_succeeded', 'job_failed', 'job_dead_letter', 'job_snoozed', 'job_skipped', 'job_cancelled'];

/** Opens a log without a writer. */
export function openEngineLog(): EngineLog {
  let ending: Ending | undefined;
  const faults: EngineLine[] = [];
  const log = openLog((text) => {
    const line = JSON.parse(text) as EngineLine;
    if (line.level === 'error') faults.push(line);
    if (ENDINGS.includes(line.event)) ending = endingOf(line);
  });
  return {
    log,
    takeEnding: () => {
      const taken = ending;
      ending = undefined;
      return taken;
    },
    refuseFaults: () => {
      const [fault] = faults.splice(0);
      if (fault === undefined) return;
      throw new Error(`${fault.event}: ${fault.error?.message ?? fault.reason ?? 'see the log'}`, {
        cause: fault.error,
      });
    },
  };
}

function endingOf({
  event,
  attempt_number = 0,
  retry_delay_s = null,
  error,
  error_fingerprint = '',
}: EngineLine): Ending {
  const stored = error && { ...error, stack: error.stack ?? null, fingerprint: error_fingerprint };
  return {
    attempt: attempt_number,
    outcome: event.replace('job_', '') as RunOutcome,
    error: stored ?? null,
    nextDelaySeconds: retry_delay_s,
  };
}
