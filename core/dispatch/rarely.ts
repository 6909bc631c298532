import type { Time } from '../time.ts';

/** Work may use one part in this number of the time. */
const SHARE = 20;

/**
 * Returns a function that calls `work`, unless that would use more than a twentieth of the time. `work` returns whether
 * more of it waits: then the next call is not left out. While an old transaction keeps vacuum from removing rows, a
 * search for few rows reads the index entries of all jobs since then, and takes longer from round to round.
 */
export function openRarely(time: Pick<Time, 'now'>): (work: () => Promise<boolean>) => Promise<void> {
  let dueAt = Number.NEGATIVE_INFINITY;
  return async (work) => {
    const begun = time.now();
    if (begun < dueAt) return;
    let more = false;
    try {
      more = await work();
    } finally {
      const ended = time.now();
      dueAt = more ? ended : ended + (SHARE - 1) * (ended - begun);
    }
  };
}
