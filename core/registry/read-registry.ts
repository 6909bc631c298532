import type { Queryable } from '../postgres/database.ts';
import type { RegistryRow } from './register-handlers.ts';

/** The columns of a handler that a deployment writes and the running system does not change. */
export type RegisteredSettings = Omit<RegistryRow, 'floor'> & {
  readonly queue_url: string;
  readonly dead_letter_queue_url: string;
  readonly function_name: string;
};

const READ_REGISTRY = `
  select job_type, routing_key, queue_url, dead_letter_queue_url, function_name, timeout_seconds,
         running_lease_seconds, dispatched_lease_seconds, visibility_seconds, max_attempts::integer, retry_policy,
         concurrency, batch_size, max_in_flight_cap as cap, on_dead_letter
    from millrace.handlers
    order by job_type, routing_key`;

export async function readRegistry(db: Queryable): Promise<RegisteredSettings[]> {
  return (await db.query<RegisteredSettings>(READ_REGISTRY)).rows;
}
