import type { Queryable } from '../postgres/queryable.ts';

// A nudge runs a second round after a second, which serves the callers that were refused. A nudge less than a second
// ahead of the clock is that of a process that claimed while this statement waited; one further ahead shows a clock
// that was set back. Of two simultaneous claims, the refused one gets the age of the nudge before, and asks again.
const CLAIM_NUDGE = `
  with claimed as (
    update millrace.dispatcher_runs set nudged_at = millrace.clock()
      where nudged_at is null or nudged_at > millrace.clock() + interval '1 second'
        or nudged_at <= millrace.clock() - interval '1 second'
      returning true
  )
  select exists (select from claimed) as claimed,
    greatest(0, extract(epoch from millrace.clock() - r.nudged_at) * 1000)::float8 as "sinceMs"
    from millrace.dispatcher_runs r`;

const RELEASE_NUDGE = 'update millrace.dispatcher_runs set nudged_at = null where nudged_at is not null';

/** Claims the nudge of this second. Returns undefined, or how many milliseconds ago another process claimed it. */
export async function claimNudge(db: Queryable): Promise<number | undefined> {
  const { rows } = await db.query<{ claimed: boolean; sinceMs: number | null }>(CLAIM_NUDGE);
  const { claimed = true, sinceMs = null } = rows[0] ?? {};
  return claimed ? undefined : (sinceMs ?? 0);
}

/** Releases a nudge that did not reach the dispatcher, for the next caller. */
export async function releaseNudge(db: Queryable): Promise<void> {
  await db.query(RELEASE_NUDGE);
}
