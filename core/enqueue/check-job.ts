import { PayloadInvalid } from '../errors.ts';
import type { EnqueueItem } from '../handler/definition.ts';
import { handlerName } from '../handler/naming.ts';
import { parsePayload, payloadJson } from '../handler/payload.ts';
import { readTraceparent } from '../tracing.ts';
import { checkHandler, checkNames, checkOptions, type NewJob } from './enqueue-options.ts';

/** Validates the payload in the form that the handler receives: after JSON, which converts a Date to text. */
export async function newJob(
  { handler, payload, ...options }: EnqueueItem,
  place: string,
  index = '',
): Promise<NewJob> {
  checkHandler(handler, place);
  checkNames(options, place);
  checkOptions(options, place);
  const { jobType, routingKey } = handler;
  try {
    const json = payloadJson(payload);
    await parsePayload(json, handler.payload);
    return { ...options, jobType, routingKey, payload: json };
  } catch (error) {
    throw placed(error, index, handlerName(handler));
  }
}

/** Validates the jobs of a list, which errors call `name`: `items[3].delay`, `[3]/note`. */
export async function newJobs(items: readonly EnqueueItem[], name = 'items'): Promise<NewJob[]> {
  const jobs: NewJob[] = [];
  for (const [index, item] of items.entries()) jobs.push(await newJob(item ?? {}, `${name}[${index}].`, `[${index}]`));
  return jobs;
}

/** Returns the job with its own trace, or else the given one; a header in another format is omitted. */
export function withTrace(job: NewJob, traceparent: string | undefined): NewJob {
  return { ...job, traceparent: job.traceparent === undefined ? traceparent : readTraceparent(job.traceparent) };
}

/** Returns the same error with the name of its handler and the index of its item. */
function placed(error: unknown, index: string, handler: string): unknown {
  if (!(error instanceof PayloadInvalid)) return error;
  const faults = error.faults.map((fault) => ({ ...fault, field: `${index}${fault.field}` }));
  const [first, ...others] = faults;
  if (first === undefined) return error;
  return new PayloadInvalid(first.field, first.message, { others, further: error.more, handler });
}
