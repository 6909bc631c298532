import { snakeCase } from '../json.ts';
import type { Queryable } from '../postgres/database.ts';
import { pinTime } from '../postgres/pin-time.ts';
import { type DeadLetterFilter, filterJson } from './filter.ts';

/** An open dead letter, limited to the fields of a list. */
export interface ListedDeadLetter {
  /** Id of the dead letter, not of the job. */
  readonly id: string;
  /** Job id; null for a stray, which is a message without a job. */
  readonly jobId: string | null;
  readonly jobType: string | null;
  readonly routingKey: string | null;
  readonly attempts: number | null;
  readonly maxAttempts: number | null;
  readonly lastError: string | null;
  readonly fingerprint: string | null;
  readonly diedAt: Date;
  /** Time at which the mirror first saw the message in the dead-letter queue; null until then. */
  readonly firstSeenAt: Date | null;
  readonly lastSeenAt: Date | null;
}

/** Returns the JSON document, without the field `id`, which in other documents is the id of a job. */
export function listedDocument({ id, ...letter }: ListedDeadLetter): Record<string, unknown> {
  return { dead_letter_id: id, ...snakeCase(letter) };
}

/** A filter with fixed times. */
export interface PinnedFilter extends Omit<DeadLetterFilter, 'since' | 'until'> {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** Returns the filter with times instead of durations, so that several queries select the same dead letters. */
export async function pinTimes(db: Queryable, filter: DeadLetterFilter): Promise<PinnedFilter> {
  return { ...filter, since: await pinTime(db, filter.since), until: await pinTime(db, filter.until) };
}

/** Returns the filter as the JSON that the statements accept. */
export function pinnedJson(filter: PinnedFilter): string {
  return filterJson(filter, new Date(0));
}

const PAGE_DEAD_LETTERS = `
  select id, job_id as "jobId" from millrace.matching_dead_letters($1::jsonb)
    where id > $2::bigint and id <= coalesce($3::bigint, id) order by id limit 1000`;

/** The fields that identify a dead letter. */
export interface DeadLetterName {
  readonly id: string;
  readonly jobId: string | null;
}

/** Yields all matching dead letters up to the given id, if any, a thousand at a time in the order of their ids. */
export async function* walkDeadLetters(
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

/** Returns the next thousand matching dead letters after an id. */
export async function nextDeadLetters(
  db: Queryable,
  filter: PinnedFilter,
  { after, untilId }: { after: string; untilId: string | null },
): Promise<DeadLetterName[]> {
  const { rows } = await db.query<DeadLetterName>(PAGE_DEAD_LETTERS, [pinnedJson(filter), after, untilId]);
  return rows;
}
