import type { Queryable } from '../postgres/database.ts';
import { nextDeadLetters, type PinnedFilter, pinnedJson } from './list-dead-letters.ts';

export interface Discarded {
  readonly discarded: number;
  /** Ids of jobs that were not discarded, because another transaction is redriving them; at most a thousand. */
  readonly left: readonly string[];
}

const COUNT_DEAD_LETTERS = `
  select count(*)::integer as count, coalesce(max(id), 0) as "untilId" from millrace.matching_dead_letters($1::jsonb)`;

/** Returns the number of matching dead letters and the newest of them; jobs that die later are not included. */
export async function countDeadLetters(
  db: Queryable,
  filter: PinnedFilter,
): Promise<{ count: number; untilId: string }> {
  const { rows } = await db.query<{ count: number; untilId: string }>(COUNT_DEAD_LETTERS, [pinnedJson(filter)]);
  return rows[0] ?? { count: 0, untilId: '0' };
}

// Deletes from the view, because operators have that right and its trigger skips jobs that are being redriven.
const DISCARD_DEAD_LETTERS = `delete from millrace.failed_jobs where id = any($1::bigint[]) returning id`;

/** Discards a thousand dead letters at a time, in the order of their ids, and yields its progress after each step. */
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
  /** Id of the last dead letter of the step; undefined when none was left. */
  readonly last: string | undefined;
}

/** Discards the next thousand dead letters after an id. */
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

/** Discards an open stray, which is a message without a job; returns false if no open stray has this id. */
export async function discardStray(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query(DISCARD_STRAY, [id]);
  return rowCount > 0;
}
