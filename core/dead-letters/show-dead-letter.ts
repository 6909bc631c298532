import type { Queryable } from '../postgres/database.ts';
import { type ListedDeadLetter, type PinnedFilter, walkDeadLetters } from './list-dead-letters.ts';

/** An open dead letter with all its fields. */
export interface ShownDeadLetter extends ListedDeadLetter {
  readonly errorStacktrace: string | null;
  /** SQS message id of its delivery; null while none is known. */
  readonly messageId: string | null;
  readonly queueName: string | null;
  /** Time at which SQS deletes the message; null while no message is known. */
  readonly messageExpiresAt: Date | null;
  readonly createdAt: Date | null;
  /** Payload as JSON text with every inserted digit; null for a stray. */
  readonly payload: string | null;
  /** Message body of a stray. */
  readonly rawBody: string | null;
}

// A message keeps its age when SQS moves it to the dead-letter queue, which keeps messages for 14 days.
const SHOW_DEAD_LETTER = `
  select d.id, d.job_id as "jobId", d.job_type as "jobType", d.routing_key as "routingKey", j.attempts,
         j.max_attempts as "maxAttempts", d.last_error as "lastError", d.fingerprint, d.died_at as "diedAt",
         d.first_seen_at as "firstSeenAt", d.last_seen_at as "lastSeenAt", d.error_stacktrace as "errorStacktrace",
         coalesce(d.message_id, j.message_id) as "messageId", d.queue_name as "queueName",
         coalesce(d.message_sent_at, j.message_sent_at) + interval '14 days' as "messageExpiresAt",
         j.created_at as "createdAt", millrace.payload_text(j.payload) as payload, d.raw_body as "rawBody"
    from millrace.dead_letters d
    left join millrace.jobs_live j on j.id = d.job_id
    where d.status = 'open' and (d.job_id = $1::bigint or d.id = $2::bigint and d.job_id is null or d.id = $3::bigint)`;

/** Identifies a dead letter by its job id, as a stray by its own id, or by its own id only. */
export type WantedDeadLetter = { jobId: string } | { strayId: string } | { id: string };

/** Returns an open dead letter; undefined if none matches. */
export async function showDeadLetter(db: Queryable, wanted: WantedDeadLetter): Promise<ShownDeadLetter | undefined> {
  const { jobId, strayId, id }: { jobId?: string; strayId?: string; id?: string } = wanted;
  const { rows } = await db.query<ShownDeadLetter>(SHOW_DEAD_LETTER, [jobId ?? null, strayId ?? null, id ?? null]);
  return rows[0];
}

// Materialized, because without statistics Postgres expects few open dead letters and would scan them all each time.
const EXPORT_DEAD_LETTERS = `
  with page as materialized (select * from millrace.dead_letters where id = any($1::bigint[]))
  select d.id, d.job_id as "jobId", d.job_type as "jobType", d.routing_key as "routingKey", j.attempts,
         j.max_attempts as "maxAttempts", d.last_error as "lastError", d.fingerprint, d.died_at as "diedAt",
         d.first_seen_at as "firstSeenAt", d.last_seen_at as "lastSeenAt", d.error_stacktrace as "errorStacktrace",
         coalesce(d.message_id, j.message_id) as "messageId", d.queue_name as "queueName",
         coalesce(d.message_sent_at, j.message_sent_at) + interval '14 days' as "messageExpiresAt",
         j.created_at as "createdAt", millrace.payload_text(j.payload) as payload, d.raw_body as "rawBody"
    from page d
    left join millrace.jobs_live j on j.id = d.job_id
    where d.status = 'open' order by d.id`;
/** Dead letters that an export reads at once: a payload can be a megabyte, so this bounds its memory. */
const AT_ONCE = 50;

/** Yields every matching dead letter, the oldest first. */
export async function* exportDeadLetters(db: Queryable, filter: PinnedFilter): AsyncGenerator<ShownDeadLetter> {
  for await (const page of walkDeadLetters(db, filter)) {
    for (let from = 0; from < page.length; from += AT_ONCE) {
      const ids = page.slice(from, from + AT_ONCE).map(({ id }) => id);
      yield* (await db.query<ShownDeadLetter>(EXPORT_DEAD_LETTERS, [ids])).rows;
    }
  }
}
