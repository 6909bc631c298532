import { DISPATCHER_SILENT_SECONDS } from '../../core/handler/timing.ts';
import type { LateHandler } from '../../core/look/check-up.ts';
import type { SchedulesIn } from '../../core/numbers/count-schedules.ts';
import type { Throughput } from '../../core/numbers/stats.ts';
import { oneLine } from '../../core/text.ts';

/** The result of one check. `next`: what to do when it failed. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  /** On a failed check that asks for a decision of a person and says nothing about the deployment. */
  readonly warning?: true;
  readonly detail: string;
  readonly next?: string;
}

/** Makes the failure of a check a warning. */
function warningOf(finding: Finding): Finding {
  return finding.ok ? finding : { ...finding, warning: true };
}

export const FINE = 'matches the code';

/** Returns a finding that passes when the list is empty. */
export function listed(check: string, wrong: readonly string[], next: string, fine = 'none'): Finding {
  return { check, ok: wrong.length === 0, detail: wrong.length === 0 ? fine : wrong.join(', '), next };
}

const CLOCK_APART_MS = 5_000;

export function clockOf(now: Date): Finding {
  const apart = Math.abs(Date.now() - now.getTime());
  return { check: 'clock', ok: apart < CLOCK_APART_MS, detail: `${apart} ms between this machine and the database` };
}

/** @param silent seconds since the last round of the dispatcher; null when it never ran one. */
export function dispatcherOf(silent: number | null): Finding {
  const detail = silent === null ? 'never ran a round' : `last round ${Math.round(silent)} s ago`;
  const ok = silent !== null && silent < DISPATCHER_SILENT_SECONDS;
  return { check: 'dispatcher', ok, detail, next: 'check the log and the schedule of the dispatcher function' };
}

interface Handlers {
  readonly handlers: number;
  readonly paused: readonly string[];
  readonly held: readonly string[];
}

export function handlersOf({ handlers, paused, held }: Handlers): Finding[] {
  return [
    { check: 'handlers', ok: handlers > 0, detail: `${handlers} deployed`, next: 'npx millrace handlers' },
    warningOf(listed('paused handlers', paused, `npx millrace handlers resume ${paused.join(' ')}`)),
    listed('held handlers', held, 'npx millrace handlers'),
  ];
}

/** An idle dispatcher wakes up within this time, so a job that has been due for longer is late. */
export const LATE_SECONDS = DISPATCHER_SILENT_SECONDS;

/** @param late handlers with a job that has been due for longer than `LATE_SECONDS`. */
export function lateOf(late: readonly LateHandler[]): Finding {
  const isFull = ({ inFlight, maxInFlight }: LateHandler) => inFlight >= maxInFlight;
  const lines = late.map((one) => {
    const full = isFull(one) ? ` (${one.inFlight} of ${one.maxInFlight} in flight, the maximum)` : '';
    return `${one.handler}: oldest due for ${Math.round(one.seconds)} s${full}`;
  });
  const next = late.some(isFull) ? 'raise concurrency or maxInFlight, or find out why its runs are slow' : STATS;
  return listed('late jobs', lines, next, `none has been due for ${LATE_SECONDS} s`);
}

const STATS = 'npx millrace stats';
/** Fewer attempts are not significant. */
const FEW_ATTEMPTS = 10;

/** Warns when most attempts of the last 5 minutes failed. */
export function failuresOf(throughput: readonly Throughput[]): Finding {
  const count = (name: string) => throughput.find(({ event }) => event === name)?.last5Minutes ?? 0;
  const [failed, all] = [count('failed'), count('failed') + count('succeeded')];
  const ok = all < FEW_ATTEMPTS || failed <= all / 2;
  const detail = `${failed} of ${all} attempts failed in the last 5 minutes`;
  const next = 'npx millrace jobs list --status failed,dead_letter';
  return warningOf({ check: 'failed attempts', ok, detail, next });
}

const BAD = { late: 'late', failed: 'without ticks', no_handler: 'without a handler' } as const;
/** Longest reason that one line shows, in characters; the list of schedules shows all of it. */
const MOST_REASON = 200;

/** Fails when schedules enqueue nothing, or jobs that no handler runs. */
export function schedulesOf(found: readonly SchedulesIn[]): Finding {
  const of = (wanted: string) => found.find(({ state }) => state === wanted);
  const wrong = Object.entries(BAD).flatMap(([state, words]) => {
    const some = of(state);
    return some === undefined ? [] : [`${words}: ${namesAndReasons(some)}`];
  });
  const fine = found.length === 0 ? 'none' : `${of('active')?.count ?? 0} active, ${of('paused')?.count ?? 0} paused`;
  const faulty = of('failed')?.names[0];
  const again = `npx millrace schedules delete ${faulty}, and create it again`;
  return listed('schedules', wrong, faulty === undefined ? 'npx millrace schedules' : again, fine);
}

function namesAndReasons({ names, faults, count }: SchedulesIn): string {
  const shown = names.map((name, index) => {
    const fault = faults[index] ?? null;
    return fault === null ? name : `${name} (${oneLine(fault, MOST_REASON)})`;
  });
  const others = count - names.length;
  return `${shown.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

export function unhandledOf(unhandled: readonly string[]): Finding {
  return listed('jobs without a handler', unhandled, 'deploy a handler with that name, or cancel the jobs');
}

export function deadOf(open: number): Finding {
  return warningOf({ check: 'dead letters', ok: open === 0, detail: `${open} open`, next: 'npx millrace dlq' });
}
