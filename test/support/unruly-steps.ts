import { Cancel, DeadLetter, RetryAfter, Skip, Snooze } from '../../core/handler/chosen-outcome.ts';
import type { Fate } from './memory-queues.ts';

/** One step. `pick` selects an existing job, message or run, modulo their number. */
export type Step =
  | { readonly do: 'enqueue'; readonly count: number; readonly maxAttempts: number }
  | { readonly do: 'dispatch'; readonly fates: readonly Fate[]; readonly dies: 'before send' | 'after send' | 'never' }
  | { readonly do: 'receive'; readonly most: number; readonly dies: Death | null }
  | { readonly do: 'deliver again'; readonly pick: number; readonly dies: Death | null }
  | { readonly do: 'copy'; readonly pick: number }
  | { readonly do: 'end'; readonly pick: number; readonly outcome: Outcome }
  | { readonly do: 'kill'; readonly pick: number }
  | { readonly do: 'advance'; readonly seconds: number }
  | { readonly do: 'cancel' | 'retry'; readonly pick: number }
  | { readonly do: 'rescue' | 'maintain' | 'show all' | 'console redrive' | 'purge' };

/** The death of a process at its statement number `at`, before the database runs it or, if `done`, after. */
export interface Death {
  readonly at: number;
  readonly done: boolean;
}

export const OUTCOMES = ['success', 'error', 'text', 'skip', 'cancel', 'snooze', 'retry after', 'dead'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Ends a waiting run. */
export function endWith(outcome: Outcome, resolve: (value: unknown) => void, reject: (reason: unknown) => void): void {
  const ends: Record<Outcome, () => void> = {
    success: () => resolve({ done: true }),
    error: () => reject(new Error('an error')),
    text: () => reject('a text \0'),
    skip: () => reject(new Skip('skipped')),
    cancel: () => resolve(new Cancel('cancelled')),
    snooze: () => reject(new Snooze('5m')),
    'retry after': () => reject(new RetryAfter('10m')),
    dead: () => resolve(new DeadLetter('dead')),
  };
  ends[outcome]();
}
