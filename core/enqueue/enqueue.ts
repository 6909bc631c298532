import type { EnqueueItem, EnqueueOptions, PayloadInput } from '../handler/definition.ts';
import type { HandlerDefinition } from '../handler/handler.ts';
import type { PayloadSchema } from '../handler/payload.ts';
import { traceCreate } from '../tracing.ts';
import { newJob, newJobs, withTrace } from './check-job.ts';
import { checkClient, type EnqueueClient } from './enqueue-client.ts';
import { ALL_KEYS, checkItems } from './enqueue-options.ts';
import { type Enqueued, type EnqueuedForKey, insertJob, insertJobs } from './insert-jobs.ts';
import { renameRefusal } from './refusals.ts';

/**
 * Enqueues one job.
 * @throws PayloadInvalid, before the insert, when the payload cannot be stored or violates the handler's schema; its
 *   message begins with the handler's name: `send_mail: payload/to: …`.
 * @throws SettingError that names the option when one is out of its bounds.
 */
export async function enqueue<Schema extends PayloadSchema>(
  client: EnqueueClient,
  handler: HandlerDefinition<Schema>,
  payload: PayloadInput<Schema>,
  options: EnqueueOptions = {},
): Promise<Enqueued> {
  checkClient(client);
  const job = await newJob({ ...options, handler, payload }, '');
  const insert = (traceparent: string | undefined) => insertJob(client, withTrace(job, traceparent));
  return traceCreate([job.jobType], insert).catch(renameRefusal);
}

/**
 * Enqueues many jobs in one statement, all or none: one job for each item. Returns the results in the order of the
 * items, which may have different handlers.
 * @throws PayloadInvalid and SettingError like `enqueue`, with the item's index: `[30]/note`, `items[30].delay`.
 */
export async function enqueueMany<Schemas extends readonly PayloadSchema[]>(
  client: EnqueueClient,
  items: readonly [...{ [Index in keyof Schemas]: EnqueueItem<Schemas[Index]> }],
): Promise<Enqueued[]> {
  checkClient(client);
  checkItems(items);
  const jobs = await newJobs(items as readonly EnqueueItem[]);
  const types = jobs.map(({ jobType }) => jobType);
  return traceCreate(types, async (traceparent) => {
    const traced = jobs.map((job) => withTrace(job, traceparent));
    return (await insertJobs(client, traced)).map(({ id, deduplicated, replaced }) => ({ id, deduplicated, replaced }));
  });
}

/**
 * Enqueues one job for each deployed handler of a job type, all or none, and returns them in the order of their routing
 * keys. Each job has its own attempts and its own unique key. Any definition of the job type can be `handler`: its
 * schema checks the payload, and its routing key does not matter.
 * @throws PayloadInvalid and SettingError like `enqueue`; SettingError of the field `handler` if none is deployed.
 */
export async function enqueueAll<Schema extends PayloadSchema>(
  client: EnqueueClient,
  handler: HandlerDefinition<Schema>,
  payload: PayloadInput<Schema>,
  options: EnqueueOptions = {},
): Promise<EnqueuedForKey[]> {
  checkClient(client);
  const job = { ...(await newJob({ ...options, handler, payload }, '')), routingKey: ALL_KEYS };
  return traceCreate([job.jobType], async (traceparent) => {
    const inserted = await insertJobs(client, [withTrace(job, traceparent)]);
    return inserted.map(({ index: _, ...job }) => job);
  }).catch(renameRefusal);
}
