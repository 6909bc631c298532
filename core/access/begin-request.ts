import type { Queryable } from '../postgres/database.ts';

const BEGIN_REQUEST = `
  select set_config('lock_timeout', $1, true), set_config('millrace.actor', $2, true)`;

export interface RequestLimits {
  /** Longest wait for a lock, in milliseconds. */
  readonly lockMs: number;
  /** Name of the caller for the audit log. */
  readonly actor: string;
}

/** Sets the limit for locks and the actor of a request, for its transaction only. */
export async function beginRequest(tx: Queryable, { lockMs, actor }: RequestLimits): Promise<void> {
  await tx.query(BEGIN_REQUEST, [String(lockMs), actor]);
}

/** The latest migration that this code requires: the last of the folder. */
export const NEWEST_MIGRATION = '0018_bulk';

const FIND_MIGRATION = `select from millrace.migrations where name = $1`;

/** Returns whether the schema has the latest migration; throws when the database is unreachable or has no schema. */
export async function isMigrated(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(FIND_MIGRATION, [NEWEST_MIGRATION]);
  return rowCount > 0;
}
