import { insertJob } from '../../core/enqueue/insert-jobs.ts';
import { cancel } from '../../core/jobs/cancel.ts';
import { exactJson, snakeCase } from '../../core/json.ts';
import { readListedJob } from '../../core/look/page-jobs.ts';
import { type ShownJob, showJob } from '../../core/look/show-job.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import { Cancelled, Enqueued, TrackedJob } from '../documents/documents.ts';
import type { JsonBody } from '../json-body.ts';
import { invalid, Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { IdParams } from '../schemas.ts';
import { readKnownHandlers } from './known-handlers.ts';
import { checkNewJob, NewJobBody } from './new-job.ts';

const TAG = 'Jobs';
export const enqueueJob = defineRoute({
  method: 'post',
  path: '/jobs',
  operation: 'enqueueJob',
  tag: TAG,
  summary: 'Enqueue a job',
  scope: ['jobs:enqueue'],
  idempotent: true,
  traced: true,
  body: NewJobBody,
  jobTypes: (body) => [body.job_type],
  answers: {
    201: { description: 'The job is in the table.', schema: Enqueued, headers: { Location: 'URL of the job.' } },
    200: {
      description: 'Another job holds the unique key; the response shows that job, or only its id if it is deleted.',
      schema: Enqueued,
    },
    404: { description: 'No handler for this job is deployed.' },
  },
  run: async ({ body, json, db, deps, traceparent }) => {
    const known = await readKnownHandlers(db, deps.schemas);
    const checked = await checkNewJob(known, body, json as JsonBody, []);
    if (checked.kind === 'unknown') {
      throw new Problem('unknown-job-type', checked.fault.detail, { errors: [checked.fault] });
    }
    if (checked.kind === 'unavailable') throw checked.problem;
    if (checked.kind === 'invalid') throw invalid(checked.faults);
    const { id, deduplicated, replaced } = await insertJob(db, { ...checked.job, traceparent });
    const job = await readListedJob(db, id);
    return {
      status: deduplicated ? 200 : 201,
      headers: { Location: `/jobs/${id}` },
      body: { ...(job === undefined ? { id } : snakeCase(job)), deduplicated, replaced },
      wake: !deduplicated || replaced,
    };
  },
});

export const getJob = defineRoute({
  method: 'get',
  path: '/jobs/{id}',
  operation: 'getJob',
  tag: TAG,
  summary: 'Show a job',
  scope: ['jobs:enqueue', 'jobs:read'],
  params: IdParams,
  answers: { 200: { description: 'The job.', schema: TrackedJob }, 404: { description: 'The job is unknown.' } },
  run: async (request) => ({ status: 200, body: await readJob(request) }),
});

export const cancelJob = defineRoute({
  method: 'post',
  path: '/jobs/{id}/cancel',
  operation: 'cancelJob',
  tag: TAG,
  summary: 'Cancel a job',
  scope: ['jobs:operate', 'jobs:enqueue'],
  params: IdParams,
  current: readJob,
  answers: {
    200: { description: 'The job waited or was dead, and is cancelled.', schema: Cancelled },
    202: { description: 'The job is in flight: its handler sees the request at its next step.', schema: Cancelled },
    404: { description: 'The job is unknown.' },
    409: { description: 'The job has finished.' },
  },
  run: async ({ params: { id }, db }) => {
    const answer = await cancel(db, id);
    if (answer === 'not_found') throw noJob();
    if (answer === 'finished') throw new Problem('invalid-state', 'the job has already finished');
    return { status: answer === 'cancelled' ? 200 : 202, body: { id, answer } };
  },
});

export function noJob(): Problem {
  return new Problem('not-found', 'no job has this id; finished jobs are kept for 7 days by default');
}

/**
 * Returns a job that was found.
 * @throws Problem when the job is unknown.
 */
export function found(shown: ShownJob | undefined): ShownJob {
  if (shown === undefined) throw noJob();
  return shown;
}

/** Returns the whole document of a job. */
export async function readJob({ params, db }: { params: { id: string }; db: Queryable }) {
  return jobDocument(found(await showJob(db, params.id)));
}

/** Returns the whole document of a job, from which `redact` removes what the caller may not see. */
export function jobDocument({ job, attempts, moreAttempts, waiting }: ShownJob): Record<string, unknown> {
  const { payload, result, ...rest } = job;
  return {
    ...snakeCase(rest),
    result: result === null ? null : exactJson(result),
    waiting,
    payload: payload === null ? null : exactJson(payload),
    payload_restricted: false,
    ...(payload === null && { payload_too_large: true }),
    attempt_history: attempts.map(snakeCase),
    more_attempts: moreAttempts,
  };
}
