import { type Duration, seconds } from '../duration.ts';
import type { Queryable } from './database.ts';

const READ_AGO = `select millrace.clock() - make_interval(secs => $1::float8) as at`;

/** Returns a time unchanged; for a duration, returns the time that long ago by the database's clock. */
export async function pinTime(db: Queryable, at: Date | Duration | undefined): Promise<Date | undefined> {
  if (at === undefined || at instanceof Date) return at;
  return (await db.query<{ at: Date }>(READ_AGO, [seconds(at, 'duration')])).rows[0]?.at;
}
