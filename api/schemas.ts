import * as z from 'zod';
import { SCOPES } from '../core/access/scopes.ts';
import { DURATION } from '../core/duration.ts';
import { JOB_TYPE, JOB_TYPE_EXPECTED, keyedAddress } from '../core/handler/naming.ts';
import { suggestStatus } from '../core/handler/other-words.ts';
import { LARGEST_ID, STATUSES } from '../core/job.ts';
import { isStorable } from '../core/text.ts';
import { isInYears } from '../core/time.ts';
import { MOST_SKIPPED } from './paging.ts';

/** A bigint of the database, as a string, since a JavaScript number loses digits. */
export const Id = z
  .string()
  .regex(/^[1-9]\d{0,18}$/, 'expected an id: a whole number from 1')
  .refine((id) => !/^\d+$/.test(id) || (id.length <= 19 && BigInt(id) <= LARGEST_ID), 'is larger than the largest id')
  .meta({ description: 'A decimal number, as a string.', example: '42' });
export const IdParams = z.strictObject({ id: Id });

export const Time = z.iso
  .datetime({ offset: true, error: 'expected a time such as 2026-11-28T09:30:00Z' })
  .refine((text) => {
    const time = new Date(text);
    return Number.isNaN(time.getTime()) || isInYears(time);
  }, 'expected a time in the years 1 to 9999');
const TimeOrNull = z.iso.datetime().nullable();

export const JobTypeName = z
  .string()
  .regex(JOB_TYPE, { error: ({ input }) => jobTypeFault(String(input)) })
  .max(60, 'expected at most 60 characters');
export const RoutingKeyName = z
  .string()
  .refine((key) => key !== '*', { error: 'only /jobs/bulk accepts *: name one routing key', abort: true })
  .regex(/^([a-z][a-z0-9_]*)?$/, 'expected an empty string, or lower-case letters, digits and _, a letter first')
  .max(60, 'expected at most 60 characters');

function jobTypeFault(text: string): string {
  const keyed = keyedAddress(text);
  if (keyed === undefined) return `expected ${JOB_TYPE_EXPECTED}`;
  return `did you mean job_type ${keyed.jobType} and routing_key ${keyed.routingKey}?`;
}

/** Text that Postgres can store and compare. */
export const Words = z
  .string()
  .min(1, 'expected at least one character')
  // Postgres counts code points, zod UTF-16 units.
  .refine((text) => [...text].length <= 500, 'expected at most 500 characters')
  .refine(isStorable, 'contains a NUL or half a surrogate pair')
  .meta({ maxLength: 500 });

export const DurationText = z.string().regex(DURATION, 'expected seconds, or 30s, 5m, 2h, 1d');

export const Status = z.enum(STATUSES, {
  error: ({ input }) => `expected one of ${STATUSES.join(', ')}${suggestStatus(input)}`,
});

/** Returns the schema of a whole number; its error states the bounds. */
export function wholeNumber(least: number, most: number) {
  return z.number(`expected a whole number from ${least} to ${most}`).int().min(least).max(most);
}

export const PageQuery = z.strictObject({
  limit: wholeNumber(1, 200).default(50),
  cursor: z.string().max(200).optional().meta({ description: 'next_cursor of a response with the same filter.' }),
  page: wholeNumber(1, MOST_SKIPPED)
    .optional()
    .meta({ description: 'The page number, from 1; send it instead of a cursor.' }),
});

/** Returns the schema of a page, newest first. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next_cursor: z.string().nullable(),
    has_more: z.boolean().meta({ description: 'Whether more rows follow, even when this page is short or empty.' }),
  });
}

const JOB = {
  id: Id,
  job_type: z.string(),
  routing_key: z.string(),
  status: Status,
  priority: z.number().int(),
  attempts: z.number().int(),
  max_attempts: z.number().int(),
  run_at: z.iso.datetime(),
  start_by: TimeOrNull.meta({ description: 'Latest start of the first attempt; null after an attempt that counts.' }),
  next_retry_at: TimeOrNull,
  due_at: TimeOrNull.meta({ description: 'When the job can be claimed; null unless it waits for a time.' }),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  started_at: TimeOrNull,
  finished_at: TimeOrNull,
  unique_key: z.string().nullable(),
  group_key: z.string().nullable(),
  last_error: z.string().nullable(),
};

export const Job = z.object(JOB).meta({ id: 'Job', description: 'A unit of work to be done successfully once.' });

const Attempt = z
  .object({
    attempt: z.number().int(),
    outcome: z.string(),
    error_name: z.string().nullable(),
    error_message: z.string().nullable(),
    error_stacktrace: z.string().nullable(),
    started_at: TimeOrNull,
    finished_at: z.iso.datetime(),
    delay_seconds: z
      .number()
      .nullable()
      .meta({ description: 'Seconds until the next attempt; null when no attempt follows.' }),
    request_id: z.string().nullable(),
  })
  .meta({
    id: 'Attempt',
    description: 'An attempt that did not succeed at once, or a snooze, loss, retry or redrive.',
  });

export const JobDetail = z
  .object({
    ...JOB,
    claim_no: z.string().nullable(),
    dispatched_at: TimeOrNull,
    lease_expires_at: TimeOrNull,
    result: z
      .unknown()
      .optional()
      .meta({ description: 'The value that the handler returned; null for none. Only for callers with payload:read.' }),
    progress: z
      .object({
        fraction: z.number().nullable().meta({ description: 'From 0 to 1; null when it is unknown.' }),
        text: z.string().nullable(),
        at: z.iso.datetime(),
      })
      .nullable()
      .meta({ description: 'What the attempt last reported; null for none, and for a job that succeeded.' }),
    waiting: z.string().nullable().meta({
      description: 'Why the job is in its state; of a finished job, which job waits for its children, otherwise null.',
    }),
    payload: z.unknown().optional().meta({ description: 'Only for callers with payload:read.' }),
    payload_restricted: z.boolean(),
    payload_too_large: z.boolean().optional().meta({
      description: 'True when the payload is larger than 1 MiB: it is not shown, and the job does not run.',
    }),
    attempt_history: z
      .array(Attempt)
      .meta({ description: 'The newest 100 attempts, newest first; the newest 1.5 MB with their stacks.' }),
    more_attempts: z.boolean().meta({ description: 'Whether the job has older attempts.' }),
  })
  .meta({ id: 'JobDetail' });

export const ProblemDocument = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string().meta({ description: 'What went wrong and what to do.' }),
    request_id: z.string(),
    errors: z.array(z.object({ in: z.string(), pointer: z.string(), detail: z.string() })).optional(),
    required_scope: z.string().optional(),
    your_scopes: z.array(z.enum(SCOPES)).optional(),
  })
  .meta({ id: 'Problem', description: 'A problem document of RFC 9457, with the invalid parts of the request.' });

const API_KEY = {
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  last_used_at: z.iso.datetime().nullable().meta({ description: 'Accurate to the minute.' }),
  made_by: z
    .string()
    .nullable()
    .meta({ description: 'Id of the key that created this key; null when the creator had no key.' }),
};
export const ApiKey = z.object(API_KEY).meta({ id: 'ApiKey' });
export const NewApiKey = z.object({
  ...API_KEY,
  secret: z.string().meta({ description: 'The secret; no other response contains it.' }),
});

export const RedriveFilter = z
  .object({
    ...{ job_type: z.array(z.string()).optional(), routing_key: z.string().optional() },
    ...{ id: z.array(Id).optional(), since: z.string().optional(), until: z.string().optional() },
    ...{ error: z.string().optional(), group: z.string().optional() },
    ...{ limit: z.number().int().optional(), all: z.boolean().optional() },
    too_large: z.boolean().optional().meta({
      description:
        'True when the filter is larger than 16 KiB (in a list) or 4 MiB (elsewhere): its parts are omitted.',
    }),
  })
  .meta({ id: 'RedriveFilter', description: 'The filter of the redrive, as in its request.' });
