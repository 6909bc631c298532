import type { Database } from '../postgres/database.ts';
import type { Queryable } from '../postgres/queryable.ts';

const BECOME_OWNER = `set local role millrace_owner`;
const GOVERN_CLOCK = `
  create table millrace.governed_clock (
    only_row boolean primary key default true check (only_row), at timestamptz not null);
  grant select on millrace.governed_clock to public;
  insert into millrace.governed_clock (at) values (statement_timestamp());
  create or replace function millrace.clock() returns timestamptz language sql stable parallel safe
    as 'select at from millrace.governed_clock'`;
const SET_CLOCK = `update millrace.governed_clock set at = $1::timestamptz`;
const READ_CLOCK = `select millrace.clock() as at`;

/**
 * Replaces the clock of this database by one that stands still until it is set. Every statement of the engine reads the
 * time there. No migration does this: a deployed database keeps the time of its server.
 */
export async function governClock(db: Database, at: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query(BECOME_OWNER);
    await tx.query(GOVERN_CLOCK);
    await tx.query(SET_CLOCK, [at.toISOString()]);
  });
}

/** Sets the clock of a database after `governClock`. */
export async function setClock(db: Queryable, at: Date): Promise<void> {
  await db.query(SET_CLOCK, [at.toISOString()]);
}

export async function readClock(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>(READ_CLOCK);
  return rows[0]?.at ?? new Date(Number.NaN);
}
