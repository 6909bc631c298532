import type { HandlerAddress } from '../handler/naming.ts';
import { countsOf, readHandlerCounts } from '../numbers/live-counts.ts';
import type { Queryable } from '../postgres/database.ts';

/** A deployed handler and its state. */
export interface RegisteredHandler extends HandlerAddress {
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
  readonly functionName: string;
  readonly timeoutSeconds: number;
  readonly maxAttempts: number;
  readonly concurrency: number;
  readonly batchSize: number;
  /** Present limit of its jobs in flight: those in SQS and those that run. */
  readonly maxInFlight: number;
  readonly inFlight: number;
  /** Time of its pause; null unless an operator paused it. */
  readonly pausedAt: Date | null;
  /** The end of the hold, and its reason. */
  readonly heldUntil: Date | null;
  readonly holdReason: string | null;
  readonly deployedAt: Date;
  /** Its unfinished jobs by status at `countedAt`, which is now or, with many jobs, within the last minutes. */
  readonly jobs: ReturnType<typeof countsOf>;
  readonly countedAt: Date | null;
}

const LIST_HANDLERS = `
  select h.job_type as "jobType", h.routing_key as "routingKey", h.queue_url as "queueUrl",
         h.dead_letter_queue_url as "deadLetterQueueUrl", h.function_name as "functionName",
         h.timeout_seconds as "timeoutSeconds", h.max_attempts as "maxAttempts", h.concurrency,
         h.batch_size as "batchSize", h.max_in_flight as "maxInFlight",
         (select count(*)::integer from millrace.jobs_live j
            where j.job_type = h.job_type and j.routing_key = h.routing_key and j.in_flight) as "inFlight",
         h.paused_at as "pausedAt", h.deployed_at as "deployedAt",
         case when h.held_until > millrace.clock() then h.held_until end as "heldUntil",
         case when h.held_until > millrace.clock() then h.hold_reason end as "holdReason"
    from millrace.handlers h
    where $1::text is null or (h.job_type = $1 and h.routing_key = $2)
    order by h.job_type, h.routing_key`;

/** Returns every deployed handler, or the given one. */
export async function listHandlers(db: Queryable, only?: HandlerAddress): Promise<RegisteredHandler[]> {
  type Row = Omit<RegisteredHandler, 'jobs' | 'countedAt'>;
  const { rows } = await db.query<Row>(LIST_HANDLERS, [only?.jobType ?? null, only?.routingKey ?? null]);
  const live = await readHandlerCounts(db);
  return rows.map((row) => ({ ...row, jobs: countsOf(live, row), countedAt: live.countedAt }));
}

const READ_ADDRESSES = `
  select job_type as "jobType", routing_key as "routingKey" from millrace.handlers order by job_type, routing_key`;

/** Returns the addresses of all deployed handlers. */
export async function readAddresses(db: Queryable): Promise<HandlerAddress[]> {
  const { rows } = await db.query<HandlerAddress>(READ_ADDRESSES);
  return rows;
}
