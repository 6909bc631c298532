import type { Queryable } from '../postgres/database.ts';

const BEGIN_REQUEST = `
  select set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
         set_config('millrace.actor', $3, true)`;

export interface RequestLimits {
  /** Longest time for one statement, and longest wait for a lock, in milliseconds. */
  readonly statementMs: number;
  readonly lockMs: number;
  /** Who asks, as the audit log shall have it. */
  readonly actor: string;
}

/** Sets the limits and the name of a request, for its transaction alone. */
export async function beginRequest(tx: Queryable, { statementMs, lockMs, actor }: RequestLimits): Promise<void> {
  await tx.query(BEGIN_REQUEST, [String(statementMs), String(lockMs), actor]);
}

/** The newest migration that this code needs: the last of the folder. */
export const NEWEST_MIGRATION = '0014_schedules';

const FIND_MIGRATION = `select from millrace.migrations where name = $1`;

/** Whether the schema is new enough for this code; throws when the database cannot be reached or was never set up. */
export async function isMigrated(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(FIND_MIGRATION, [NEWEST_MIGRATION]);
  return rowCount > 0;
}
