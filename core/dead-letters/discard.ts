import type { Queryable } from '../postgres/database.ts';
import { nextDeadLetters, type PinnedFilter, pinnedJson } from './list-dead-letters.ts';

export interface Discarded {
  readonly discarded: number;
  /** Jobs that were left, because somebody redrives them at this moment; a thousand at most. */
  readonly left: readonly string[];
}

const COUNT_DEAD_LETTERS = `
  select count(*)::integer as count, coalesce(max(id), 0) as "untilId" from millrace.matching_dead_letters($1::jsonb)`;

/** How many match, and the newest of them: what dies later is not meant. */
export async function countDeadLetters(
  db: Queryable,
  filter: PinnedFilter,
): Promise<{ count: number; untilId: string }> {
  const { rows } = await db.query<{ count: number; untilId: string }>(COUNT_DEAD_LETTERS, [pinnedJson(filter)]);
  return rows[0] ?? { count: 0, untilId: '0' };
}

// Through the view, which an operator may delete from, and whose trigger leaves alone what is being redriven.
const DISCARD_DEAD_LETTERS = `delete from millrace.failed_jobs where id = any($1::bigint[]) returning id`;

/** Discards a thousand at a time, in the order of their ids, and tells how far it got after each. */
export async function* discardDeadLetters(
  db: Queryable,
  filter: PinnedFilter,
  untilId: string,
): AsyncGenerator<Discarded> {
  for (let after: string | undefined = '0'; ; ) {
    const step: DiscardStep = await discardSome(db, filter, { after, untilId });
    after = step.last;
    if (after === undefined) return;
    yield step;
  }
}

export interface DiscardStep extends Discarded {
  /** The last that was looked at; undefined when there was none. */
  readonly last: string | undefined;
}

/** Discards the thousand after an id. */
export async function discardSome(
  db: Queryable,
  filter: PinnedFilter,
  range: { after: string; untilId: string },
): Promise<DiscardStep> {
  const found = await nextDeadLetters(db, filter, range);
  const { rows } = await db.query<{ id: string }>(DISCARD_DEAD_LETTERS, [found.map(({ id }) => id)]);
  const gone = new Set(rows.map(({ id }) => id));
  const left = found.flatMap(({ id, jobId }) => (gone.has(id) || jobId === null ? [] : [jobId]));
  return { discarded: gone.size, left, last: found.at(-1)?.id };
}

const DISCARD_STRAY = `delete from millrace.failed_jobs where id = $1::bigint and job_id is null`;

/** Discards a message that is nobody's job; false when there is none that is open. */
export async function discardStray(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query(DISCARD_STRAY, [id]);
  return rowCount > 0;
}
