import { findStalled, type StalledHandler } from '../numbers/stalled-handlers.ts';
import { readOldestDue } from '../numbers/stats.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';
import { openRarely } from './rarely.ts';

/** What waits longest. */
export interface LongestWaits {
  /** How long the oldest due job of all handlers has waited; 0 without one. */
  readonly oldestSeconds: number;
  /** The longest wait first. */
  readonly stalled: readonly StalledHandler[];
}

/** Returns what the last look found; undefined if none has succeeded. Throws what a look throws. */
export type ReadLongestWaits = (db: Database) => Promise<LongestWaits | undefined>;

/**
 * Looks for what waits longest, in at most a twentieth of the time. While an old transaction keeps vacuum from removing
 * rows, each look reads the index entries of all jobs since then, and the dispatcher sends nothing meanwhile.
 */
export function openLongestWaits(time: Pick<Time, 'now'>): ReadLongestWaits {
  const rarely = openRarely(time);
  let known: LongestWaits | undefined;
  return async (db) => {
    await rarely(async () => {
      const oldest = await readOldestDue(db);
      const stalled = await findStalled(db);
      known = { oldestSeconds: Math.max(0, ...oldest.map(({ seconds }) => seconds)), stalled };
      return false;
    });
    return known;
  };
}
