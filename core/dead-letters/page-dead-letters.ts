import type { Queryable } from '../postgres/database.ts';
import { type ListedDeadLetter, type PinnedFilter, pinnedJson } from './list-dead-letters.ts';

export interface DeadLetterPage {
  readonly deadLetters: readonly ListedDeadLetter[];
  /** Value of `before` for the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** Dead letters that one page scans. A page may end there with few results or none, and with a next page. */
const MOST_ROWS = 20_000;

/** Finds the last dead letter that one page scans; no row when fewer are left. */
const FIND_END = `
  select id from millrace.dead_letters
    where status = 'open' and id < coalesce($1::bigint, 9223372036854775807) order by id desc offset $2 - 1 limit 1`;

const PAGE_DEAD_LETTERS = `
  select d.id, d.job_id as "jobId", d.job_type as "jobType", d.routing_key as "routingKey", j.attempts,
         j.max_attempts as "maxAttempts", d.last_error as "lastError", d.fingerprint, d.died_at as "diedAt",
         d.first_seen_at as "firstSeenAt", d.last_seen_at as "lastSeenAt"
    from (select * from millrace.matching_dead_letters($1::jsonb)
            where id < coalesce($2::bigint, 9223372036854775807) and id >= coalesce($5::bigint, 0)
            order by id desc offset $3 limit $4) d
    left join millrace.jobs_live j on j.id = d.job_id
    order by d.id desc`;

/** Returns a page of the open dead letters that match, the newest first. */
export async function pageDeadLetters(
  db: Queryable,
  filter: PinnedFilter,
  { before, skip = 0, limit }: { before?: string | undefined; skip?: number; limit: number },
): Promise<DeadLetterPage> {
  const { rows: found } = await db.query<{ id: string }>(FIND_END, [before ?? null, MOST_ROWS]);
  const end = found[0]?.id;
  const values = [pinnedJson(filter), before ?? null, skip, limit + 1, end ?? null];
  const { rows } = await db.query<ListedDeadLetter>(PAGE_DEAD_LETTERS, values);
  const deadLetters = rows.slice(0, limit);
  return { deadLetters, next: rows.length > limit ? deadLetters.at(-1)?.id : end };
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
