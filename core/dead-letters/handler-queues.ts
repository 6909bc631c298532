import type { Queryable } from '../postgres/database.ts';

/** A dead-letter queue of the registry. */
export interface HandlerQueue {
  readonly url: string;
  /** `send_reminder`, `index_record.vector`: whose dead letters go there. */
  readonly handlers: readonly string[];
}

const FIND_HANDLER_QUEUES = `
  select dead_letter_queue_url as url,
         array_agg(concat_ws('.', job_type, nullif(routing_key, '')) order by job_type, routing_key) as handlers
    from millrace.handlers
    where (cardinality($1::text[]) = 0 or job_type = any($1::text[])) and routing_key = coalesce($2, routing_key)
    group by 1 order by 2`;

/** The dead-letter queues of handlers: of these job types, or of any, and with this routing key, if one is given. */
export async function findHandlerQueues(
  db: Queryable,
  { jobTypes = [], routingKey }: { jobTypes?: readonly string[] | undefined; routingKey?: string | undefined },
): Promise<HandlerQueue[]> {
  const { rows } = await db.query<HandlerQueue>(FIND_HANDLER_QUEUES, [jobTypes, routingKey ?? null]);
  return rows;
}
