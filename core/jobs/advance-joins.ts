import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import type { Time } from '../time.ts';

// The functions are in migrations/0015_follow_ups.sql.
const NEXT_JOINS = `select job_id as "jobId", advances from millrace.next_joins($1::bigint, $2)`;
const ADVANCE_JOIN = `select millrace.advance_join($1::bigint) as answer`;

/** Joins that one statement reads. */
const PAGE = 1000;
const LONGEST_MS = 500;

interface OpenJoin {
  readonly jobId: string;
  /** Whether the next child has finished, all have, or they are to be cancelled. */
  readonly advances: boolean;
}

interface JoinDeps {
  readonly db: Database;
  readonly log: Log;
  readonly time: Pick<Time, 'now'>;
}

/** Where the next round continues: the last join that a round looked at, or `0`. */
export interface JoinPosition {
  position: string;
}

/**
 * Looks for half a second, in turn, which jobs have waited for all their children, and makes them due. Cancels the
 * children of cancelled jobs. Returns the number of jobs that became due. A failure is only logged: the next round
 * tries the join again after the others.
 */
export async function advanceJoins({ db, log, time }: JoinDeps, place: JoinPosition): Promise<number> {
  const end = time.now() + LONGEST_MS;
  let continued = 0;
  try {
    for (;;) {
      const { rows } = await db.keyed.query<OpenJoin>(NEXT_JOINS, [place.position, PAGE]);
      for (const { jobId, advances } of rows) {
        place.position = jobId;
        if (!advances) continue;
        continued += await advanceOne({ db, log, time }, jobId, end);
        if (time.now() >= end) return continued;
      }
      if (rows.length < PAGE) break;
      if (time.now() >= end) return continued;
    }
    place.position = '0';
    return continued;
  } catch (error) {
    log.error('maintain_failed', { error });
    return continued;
  }
}

async function advanceOne({ db, log, time }: JoinDeps, jobId: string, end: number): Promise<number> {
  for (;;) {
    const { rows } = await db.keyed.query<{ answer: 'continued' | 'more' | null }>(ADVANCE_JOIN, [jobId]);
    const answer = rows[0]?.answer ?? null;
    if (answer === 'continued') log.info('children_finished', { job_id: jobId });
    if (answer !== 'more' || time.now() >= end) return answer === 'continued' ? 1 : 0;
  }
}
