import { type PageWish, readWindows } from '../look/windows.ts';
import type { Queryable } from '../postgres/database.ts';
import { type ListedDeadLetter, type PinnedFilter, pinnedJson } from './list-dead-letters.ts';

export interface DeadLetterPage {
  readonly deadLetters: readonly ListedDeadLetter[];
  /** Value of `before` for the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** Finds the last dead letter of a window; no row if the table ends before it. */
const FIND_END = `
  select id from millrace.dead_letters
    where status = 'open' and id < coalesce($1::bigint, 9223372036854775807) order by id desc offset $2 - 1 limit 1`;

const FIND_PAGE = `
  select id from millrace.matching_dead_letters($1::jsonb)
    where id < coalesce($2::bigint, 9223372036854775807) and id >= coalesce($4::bigint, 0)
    order by id desc limit $3`;

const READ_PAGE = `
  select d.id, d.job_id as "jobId", d.job_type as "jobType", d.routing_key as "routingKey", j.attempts,
         j.max_attempts as "maxAttempts", d.last_error as "lastError", d.fingerprint, d.died_at as "diedAt",
         d.first_seen_at as "firstSeenAt", d.last_seen_at as "lastSeenAt"
    from millrace.dead_letters d
    left join millrace.jobs_live j on j.id = d.job_id
    where d.id = any($1::bigint[]) and d.status = 'open'
    order by d.id desc`;

/** Returns a page of the open dead letters that match, the newest first. */
export async function pageDeadLetters(db: Queryable, filter: PinnedFilter, wish: PageWish): Promise<DeadLetterPage> {
  const { rows: shown, next } = await readWindows(wish, async ({ before = null, rows, most }) => {
    const { rows: ends } = await db.query<{ id: string }>(FIND_END, [before, rows]);
    const end = ends[0]?.id;
    const values = [pinnedJson(filter), before, most, end ?? null];
    const { rows: matches } = await db.query<{ id: string }>(FIND_PAGE, values);
    return { matches, end: async () => end };
  });
  if (shown.length === 0) return { deadLetters: [], next };
  const { rows: deadLetters } = await db.query<ListedDeadLetter>(READ_PAGE, [shown.map(({ id }) => id)]);
  return { deadLetters, next };
}

/** Returns the newest open dead letters that match, up to `limit`, page by page. */
export async function listDeadLetters(db: Queryable, filter: PinnedFilter, limit: number): Promise<ListedDeadLetter[]> {
  const found: ListedDeadLetter[] = [];
  let before: string | undefined;
  do {
    const page = await pageDeadLetters(db, filter, { before, limit: limit - found.length });
    found.push(...page.deadLetters);
    before = page.next;
  } while (before !== undefined && found.length < limit);
  return found;
}
