import { DISPATCHER_SILENT_SECONDS } from '../../core/handler/timing.ts';

/** The result of one check. `next`: what to do when it failed. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly next?: string;
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
    listed('paused handlers', paused, `npx millrace handlers resume ${paused.join(' ')}`),
    listed('held handlers', held, 'npx millrace handlers'),
  ];
}

export function unhandledOf(unhandled: readonly string[]): Finding {
  return listed('jobs without a handler', unhandled, 'deploy a handler with that name, or cancel the jobs');
}

export function deadOf(open: number): Finding {
  return { check: 'dead letters', ok: open === 0, detail: `${open} open`, next: 'npx millrace dlq' };
}
