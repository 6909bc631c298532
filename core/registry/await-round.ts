import { DISPATCHER_SILENT_SECONDS } from '../handler/timing.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';

const IS_SILENT = `
  select coalesce(last_round_at < millrace.clock() - make_interval(secs => $1), true) as silent
    from millrace.dispatcher_runs`;

const PAUSE_MS = 2_000;
const LONGEST_WAIT_MS = 180_000;
/** CloudWatch shows a published number within about a minute. */
const SHOWN_AFTER_MS = 60_000;

/**
 * Waits until the dispatcher has completed a round and CloudWatch knows it, so that alarms that are created next do not
 * report a silent dispatcher. Returns at once where the dispatcher runs, and after three minutes without a round, when
 * such an alarm is right.
 */
export async function awaitRound(deps: { readonly db: Database; readonly time: Time; readonly log: Log }) {
  const { db, time, log } = deps;
  if (!(await isSilent(db))) return;
  log.info('registry_waiting', { reason: 'the dispatcher has not completed its first round' });
  const until = time.now() + LONGEST_WAIT_MS;
  while (time.now() < until) {
    await time.sleep(PAUSE_MS);
    if (!(await isSilent(db))) return time.sleep(SHOWN_AFTER_MS);
  }
}

async function isSilent(db: Database): Promise<boolean> {
  const { rows } = await db.query<{ silent: boolean }>(IS_SILENT, [DISPATCHER_SILENT_SECONDS]);
  return rows[0]?.silent ?? true;
}
