import * as z from 'zod';
import type { EnqueueClient } from '../../core/enqueue/enqueue-client.ts';
import { ALL_KEYS, type NewJob } from '../../core/enqueue/enqueue-options.ts';
import { type InsertedJob, insertJobs } from '../../core/enqueue/insert-jobs.ts';
import { isUnhandled } from '../../core/enqueue/refusals.ts';
import { jsonPointer } from '../../core/json.ts';
import type { JsonBody } from '../json-body.ts';
import { namesOf, toFaults } from '../parse-request.ts';
import {
  type Faults,
  faultAt,
  invalid,
  invalidBody,
  joinFaults,
  MOST_ERRORS,
  oneFault,
  type Problem,
} from '../problem.ts';
import { defineRoute } from '../route.ts';
import { type KnownHandlers, readKnownHandlers } from './known-handlers.ts';
import { BulkJob, type CheckedJob, checkNewJob } from './new-job.ts';

const MOST_JOBS = 1000;
/** The largest number of jobs of one request in which some have the routing key `*`. */
const MOST_INSERTED = 10_000;
const atomic = z
  .boolean()
  .default(true)
  .meta({ description: 'Insert all jobs or none; with false, valid jobs are inserted and each has its own result.' });
const ManyJobs = z.array(BulkJob).min(1).max(MOST_JOBS);

const Item = z.object({
  index: z.number().int().meta({ description: 'The place of the job in the request, from 0.' }),
  id: z.string().optional(),
  routing_key: z.string().optional(),
  deduplicated: z.boolean().optional(),
  replaced: z.boolean().optional(),
  errors: z
    .array(z.object({ in: z.string(), pointer: z.string(), detail: z.string() }))
    .optional()
    .meta({ description: 'The first error of each invalid job, and up to 100 others in the whole response.' }),
  more_errors: z.number().int().optional().meta({ description: 'Number of other errors of this job, not listed.' }),
});
const BulkAnswer = z
  .object({
    inserted: z.number().int(),
    deduplicated: z.number().int(),
    failed: z.number().int(),
    items: z.array(Item).meta({
      description: 'In the order of the request. A job with the routing key * has an item for each deployed handler.',
    }),
  })
  .meta({ id: 'BulkAnswer' });

export const enqueueJobs = defineRoute({
  method: 'post',
  path: '/jobs/bulk',
  operation: 'enqueueJobs',
  tag: 'Jobs',
  summary: 'Enqueue up to 1,000 jobs',
  scope: ['jobs:enqueue'],
  idempotent: true,
  traced: true,
  // Items are validated one by one, so that an invalid job does not affect the others.
  body: z.strictObject({ jobs: z.array(z.unknown()).min(1).max(MOST_JOBS), atomic }),
  bodyShown: z.object({ jobs: ManyJobs, atomic }).meta({ id: 'BulkJobs' }),
  answers: {
    201: { description: 'All jobs are in the table, new or already there with their unique_key.', schema: BulkAnswer },
    207: {
      description: 'With `atomic: false`: some jobs were not inserted; their items have the errors.',
      schema: BulkAnswer,
    },
  },
  jobTypes: ({ jobs }) => jobs.map((job) => Object(job).job_type),
  run: async ({ body, json, db, deps, log, traceparent }) => {
    const known = await readKnownHandlers(db, deps.schemas);
    refuseTooMany(known, body.jobs);
    const checked = await checkAll(known, body.jobs, json as JsonBody);
    const faults = joinFaults(checked.flatMap((one) => ('errors' in one ? [one.errors] : [])));
    const problems = checked.flatMap((one) => ('problem' in one ? [one.problem] : []));
    if (body.atomic) for (const problem of problems) throw problem;
    for (const { kind, cause } of problems) log.error('request_failed', { problem: kind, error: cause });
    if (body.atomic && faults.total > 0) throw invalid(faults);
    const items = await insertAll(db, checked, traceparent);
    const failed = checked.filter((one) => 'errors' in one).length;
    const deduplicated = items.filter((item) => item.deduplicated === true).length;
    const inserted = items.length - failed - deduplicated;
    return {
      status: failed > 0 ? 207 : 201,
      body: { inserted, deduplicated, failed, items },
      wake: inserted > 0 || items.some((item) => item.replaced === true),
    };
  },
});

type Checked = { readonly job: NewJob } | { readonly errors: Faults; readonly problem?: Problem };

/** Checks each job. Describes only the errors that the response lists: the first of each job, and 100 others in all. */
export async function checkAll(known: KnownHandlers, jobs: readonly unknown[], json: JsonBody): Promise<Checked[]> {
  const checked: Checked[] = [];
  let room = MOST_ERRORS;
  for (const [index, job] of jobs.entries()) {
    const most = Math.min(MOST_ERRORS, 1 + room);
    const one = await checkOne(known, { job, path: ['jobs', index], most }, json);
    if ('errors' in one) room -= Math.min(room, one.errors.shown.length - 1);
    checked.push(one);
  }
  return checked;
}

interface GivenJob {
  readonly job: unknown;
  readonly path: readonly PropertyKey[];
  /** The largest number of errors to describe. */
  readonly most: number;
}

async function checkOne(known: KnownHandlers, { job, path, most }: GivenJob, json: JsonBody): Promise<Checked> {
  const parsed = BulkJob.safeParse(job);
  if (!parsed.success) {
    return { errors: toFaults(parsed.error, { in: 'body', above: path, names: namesOf(BulkJob), most }) };
  }
  const verdict = await checkNewJob(known, parsed.data, json, path);
  return toChecked(verdict, path);
}

function toChecked(verdict: CheckedJob, path: readonly PropertyKey[]): Checked {
  switch (verdict.kind) {
    case 'valid':
      return { job: verdict.job };
    case 'invalid':
      return { errors: verdict.faults };
    case 'unknown':
      return { errors: oneFault(verdict.fault) };
    case 'unavailable': {
      const { problem } = verdict;
      return { errors: oneFault(faultAt('body', `${jsonPointer(path)}/payload`, problem.message)), problem };
    }
  }
}

/** Counts the jobs that the request inserts: each with the routing key `*` is one for each handler of its type. */
function refuseTooMany({ byType }: KnownHandlers, jobs: readonly unknown[]): void {
  let count = 0;
  for (const job of jobs) {
    const { job_type: type, routing_key: key } = Object(job) as { job_type?: unknown; routing_key?: unknown };
    count += (key === ALL_KEYS && typeof type === 'string' && byType.get(type)?.length) || 1;
  }
  if (count <= MOST_INSERTED) return;
  throw invalidBody(
    '/jobs',
    `expected at most ${MOST_INSERTED} jobs in all, got ${count} with those for routing_key *`,
  );
}

/** The last handler of a job with `*` was removed after the check. Its SQLSTATE makes the transaction run again. */
class HandlersRemoved extends Error {
  readonly code = '40001';
}

/** Inserts the valid jobs in one statement; returns the items of each job, in order. */
async function insertAll(
  db: EnqueueClient,
  checked: readonly Checked[],
  traceparent: string | undefined,
): Promise<z.output<typeof Item>[]> {
  const valid = checked.flatMap((one) => ('job' in one ? [{ ...one.job, traceparent }] : []));
  const rows = await insertJobs(db, valid).catch((cause: unknown) => {
    throw isUnhandled(cause) ? new HandlersRemoved('a handler was removed during the request', { cause }) : cause;
  });
  const inserted = Map.groupBy(rows, (job) => job.index);
  let next = 0;
  let room = MOST_ERRORS;
  return checked.flatMap((one, index) => {
    if (!('errors' in one)) return (inserted.get(next++) ?? []).map((job) => itemOf(index, job));
    const errors = one.errors.shown.slice(0, 1 + room);
    room -= errors.length - 1;
    const more = one.errors.total - errors.length;
    return { index, errors, ...(more > 0 && { more_errors: more }) };
  });
}

function itemOf(index: number, { id, routingKey, deduplicated, replaced }: InsertedJob): z.output<typeof Item> {
  return { index, id, routing_key: routingKey, deduplicated, replaced };
}
