import { seconds } from '../duration.ts';
import { snakeCase } from '../json.ts';
import type { Queryable } from '../postgres/database.ts';
import { type DeadLetterFilter, filterJson } from './filter.ts';

/** An open dead letter: what fits on a line. */
export interface ListedDeadLetter {
  /** Of the dead letter, not of the job. */
  readonly id: string;
  /** Null for a stray: a message that is nobody's job. */
  readonly jobId: string | null;
  readonly jobType: string | null;
  readonly routingKey: string | null;
  readonly attempts: number | null;
  readonly maxAttempts: number | null;
  readonly lastError: string | null;
  readonly fingerprint: string | null;
  readonly diedAt: Date;
  /** In the dead-letter queue; null until it was seen there. */
  readonly firstSeenAt: Date | null;
  readonly lastSeenAt: Date | null;
}

/** As JSON has it: without a bare `id`, which everywhere else is that of a job. */
export function listedDocument({ id, ...letter }: ListedDeadLetter): Record<string, unknown> {
  return { dead_letter_id: id, ...snakeCase(letter) };
}

/** A filter whose `since` does not move on. */
export interface PinnedFilter extends Omit<DeadLetterFilter, 'since'> {
  readonly since?: Date | undefined;
}

const PIN_SINCE = `select millrace.clock() - make_interval(secs => $1::float8) as since`;

/** The same filter with a time in place of a duration, so that several questions mean the same dead letters. */
export async function pinSince(db: Queryable, filter: DeadLetterFilter): Promise<PinnedFilter> {
  const { since } = filter;
  if (since === undefined || since instanceof Date) return { ...filter, since };
  const { rows } = await db.query<{ since: Date }>(PIN_SINCE, [seconds(since, 'since')]);
  return { ...filter, since: rows[0]?.since };
}

/** The filter as the statements read it. */
export function pinnedJson(filter: PinnedFilter): string {
  return filterJson(filter, new Date(0));
}

const LIST_DEAD_LETTERS = `
  select d.id, d.job_id as "jobId", d.job_type as "jobType", d.routing_key as "routingKey", j.attempts,
         j.max_attempts as "maxAttempts", d.last_error as "lastError", d.fingerprint, d.died_at as "diedAt",
         d.first_seen_at as "firstSeenAt", d.last_seen_at as "lastSeenAt"
    from (select * from millrace.matching_dead_letters($1::jsonb) order by died_at desc, id desc limit $2) d
    left join millrace.jobs_live j on j.id = d.job_id
    order by d.died_at desc, d.id desc`;

/** Open dead letters by the filter, the newest first. */
export async function listDeadLetters(db: Queryable, filter: PinnedFilter, limit: number): Promise<ListedDeadLetter[]> {
  const { rows } = await db.query<ListedDeadLetter>(LIST_DEAD_LETTERS, [pinnedJson(filter), limit]);
  return rows;
}

const PAGE_DEAD_LETTERS = `
  select id, job_id as "jobId" from millrace.matching_dead_letters($1::jsonb)
    where id > $2::bigint and id <= coalesce($3::bigint, id) order by id limit 1000`;

/** What is needed to name a dead letter. */
export interface DeadLetterName {
  readonly id: string;
  readonly jobId: string | null;
}

/** All that match, in the order of their ids, a thousand at a time; up to an id, if one is given. */
export async function* pageDeadLetters(
  db: Queryable,
  filter: PinnedFilter,
  untilId: string | null = null,
): AsyncGenerator<DeadLetterName[]> {
  for (let after = '0'; ; ) {
    const names = await nextDeadLetters(db, filter, { after, untilId });
    const last = names.at(-1);
    if (last === undefined) return;
    yield names;
    after = last.id;
  }
}

/** The next thousand after an id. */
export async function nextDeadLetters(
  db: Queryable,
  filter: PinnedFilter,
  { after, untilId }: { after: string; untilId: string | null },
): Promise<DeadLetterName[]> {
  const { rows } = await db.query<DeadLetterName>(PAGE_DEAD_LETTERS, [pinnedJson(filter), after, untilId]);
  return rows;
}
