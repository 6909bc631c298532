import type { Database } from './database.ts';

const READ_EPOCH = `select epoch from millrace.installation`;

/** Returns the epoch, which distinguishes messages of this database from those of a clone or from before a restore. */
export async function readEpoch(db: Database): Promise<string> {
  const { rows } = await db.query<{ epoch: string }>(READ_EPOCH);
  const epoch = rows[0]?.epoch;
  if (epoch === undefined) throw new Error('millrace.installation is empty: run the migrations again');
  return epoch;
}

const READ_ID_SEQUENCE = `select is_called as "isCalled" from millrace.job_ids`;

/** Returns whether no job was ever enqueued in this database. */
export async function isUnused(db: Database): Promise<boolean> {
  const { rows } = await db.query<{ isCalled: boolean }>(READ_ID_SEQUENCE);
  return rows[0]?.isCalled === false;
}
