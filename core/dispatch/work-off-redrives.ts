import {
  nextRedrives,
  postponeRedrive,
  type RedriveOperation,
  type RunningRedrive,
  stepRedrive,
} from '../dead-letters/redrive-operation.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';

interface RedriveDeps {
  readonly db: Database;
  readonly log: Log;
  readonly time: Pick<Time, 'now'>;
}

/** Jobs that one statement moves, which bounds its row locks to a quarter of a second. */
export const REDRIVE_STEP = 1000;
/** Redrives that one round advances. With a rate, a redrive makes up for the five seconds until its next turn. */
const MOST_REDRIVES = 20;
/** Time from the start of the redrives of a round after which no step begins. */
const LONGEST_MS = 500;

/**
 * Advances running redrives as far as their rates allow, in turn and within the time of a round, and returns the number
 * of jobs moved.
 */
export async function workOffRedrives({ db, log, time }: RedriveDeps): Promise<number> {
  const begun = time.now();
  const hasTime = () => time.now() - begun < LONGEST_MS;
  let moved = 0;
  for (const before of await nextRedrives(db, MOST_REDRIVES)) {
    if (!hasTime()) break;
    // A failed redrive must not delay the others.
    const after = await step(db, before, hasTime).catch(async (error: unknown) => {
      log.error('redrive_failed', { ...redriveFields(before), error });
      await postponeRedrive(db, before.id);
    });
    if (!after) continue;
    moved += after.done - before.done;
    if (after.status === 'done')
      log.info('redrive_done', { ...redriveFields(after), jobs: after.done, skipped: after.skipped });
    else if (after.done > before.done)
      log.info('redriven', { ...redriveFields(after), jobs: after.done, of: after.expected });
  }
  return moved;
}

/** Steps of a redrive in one round while they find no job to move: each checks 20,000 dead letters. */
const MOST_STEPS = 10;

/** Advances a redrive, past dead letters that do not match, so that it ends without a delay. */
async function step(
  db: Database,
  { id, done, ratePerSecond }: RunningRedrive,
  hasTime: () => boolean,
): Promise<RedriveOperation | undefined> {
  let now = await stepRedrive(db, id, REDRIVE_STEP);
  for (let steps = 1; steps < MOST_STEPS && now?.status === 'running' && hasTime(); steps += 1) {
    if (ratePerSecond !== null || now.done - done >= REDRIVE_STEP) break;
    now = await stepRedrive(db, id, REDRIVE_STEP);
  }
  return now;
}

function redriveFields({ id, requestedBy }: Pick<RunningRedrive, 'id' | 'requestedBy'>) {
  return { redrive_id: id, actor: requestedBy };
}
