import {
  type RedriveOperation,
  type RunningRedrive,
  runningRedrives,
  stepRedrive,
} from '../dead-letters/redrive-operation.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';

/** Jobs that one statement moves, which bounds its row locks to a quarter of a second. */
export const REDRIVE_STEP = 1000;

/** Advances every running redrive as far as its rate allows, and returns the number of jobs moved. */
export async function workOffRedrives({ db, log }: { db: Database; log: Log }): Promise<number> {
  let moved = 0;
  for (const before of await runningRedrives(db)) {
    // A failed redrive must not delay the others.
    const after = await step(db, before).catch((error: unknown) => {
      log.error('redrive_failed', { ...redriveFields(before), error });
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

/** Steps of a redrive in one round while they find no job to move: each is as short as a probe of 20,000 rows. */
const MOST_STEPS = 10;

/** Advances a redrive, past dead letters that do not match, so that it ends without a delay. */
async function step(db: Database, { id, done, ratePerSecond }: RunningRedrive): Promise<RedriveOperation | undefined> {
  let now = await stepRedrive(db, id, REDRIVE_STEP);
  for (let steps = 1; steps < MOST_STEPS && now?.status === 'running'; steps += 1) {
    if (ratePerSecond !== null || now.done - done >= REDRIVE_STEP) break;
    now = await stepRedrive(db, id, REDRIVE_STEP);
  }
  return now;
}

function redriveFields({ id, requestedBy }: Pick<RunningRedrive, 'id' | 'requestedBy'>) {
  return { redrive_id: id, actor: requestedBy };
}
