import type { Queryable } from '../postgres/database.ts';

/** A dead-letter queue of the registry. */
export interface HandlerQueue {
  readonly url: string;
  /** Name of the queue's handler, such as `send_reminder` or `index_record.vector`. */
  readonly handlers: readonly string[];
}

const FIND_HANDLER_QUEUES = `
  select dead_letter_queue_url as url,
         array_agg(concat_ws('.', job_type, nullif(routing_key, '')) order by job_type, routing_key) as handlers
    from millrace.handlers
    where (cardinality($1::text[]) = 0 or job_type = any($1::text[])) and routing_key = coalesce($2, routing_key)
    group by 1 order by 2`;

/** Returns the dead-letter queues of all handlers, or of those with the given job types and routing key. */
export async function findHandlerQueues(
  db: Queryable,
  { jobTypes = [], routingKey }: { jobTypes?: readonly string[] | undefined; routingKey?: string | undefined },
): Promise<HandlerQueue[]> {
  const { rows } = await db.query<HandlerQueue>(FIND_HANDLER_QUEUES, [jobTypes, routingKey ?? null]);
  return rows;
}
