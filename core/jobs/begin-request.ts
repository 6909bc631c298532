import type { Queryable } from '../database.ts';

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

const CHECK_READY = `select millrace.actor() as actor`;

/** Throws when the database cannot be reached, or its schema is older than this code. */
export async function checkReady(db: Queryable): Promise<void> {
  await db.query(CHECK_READY);
}
