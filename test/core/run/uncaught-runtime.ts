import { EventEmitter } from 'node:events';
import { openUncaughtErrors, type UncaughtErrors } from '../../../core/run/uncaught-errors.ts';
import { systemTime, type Time } from '../../../core/time.ts';
import type { RunOptions } from '../../support/database-engine.ts';

/** The second between two settles lasts 20 ms, and no timeout fires. */
export const quickTime: Time = {
  now: () => systemTime.now() * 50,
  sleep: (ms, signal) => systemTime.sleep(ms > 60_000 ? ms : ms / 50, signal),
};

export type Kind = 'uncaughtException' | 'unhandledRejection';

/** A process with the listeners of a runtime, whose calls are recorded. */
export function runtime() {
  const reported: string[] = [];
  const exit = (code?: number) => void reported.push(`exit ${code}`) as never;
  const abort = () => void reported.push('abort') as never;
  const source = Object.assign(new EventEmitter(), { exit, abort });
  for (const kind of ['uncaughtException', 'unhandledRejection'] as const)
    source.on(kind, (error: Error) => void reported.push(`${kind}: ${error.message}`));
  const raise = (kind: Kind, message = 'raised') => source.emit(kind, new Error(message), 'detail');
  return { source, reported, raise, uncaught: openUncaughtErrors(source) };
}

export const optionsOf = (uncaught: UncaughtErrors): RunOptions => ({
  deps: { time: quickTime, uncaught },
  remainingMs: () => 900_000,
});
