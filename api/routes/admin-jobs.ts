import * as z from 'zod';
import { CLAIM_LIMITS } from '../../core/dispatch/claim-settings.ts';
import { deleteJob } from '../../core/jobs/delete.ts';
import { retryJob } from '../../core/jobs/redrive.ts';
import { snakeCase } from '../../core/json.ts';
import { pageJobs } from '../../core/look/page-jobs.ts';
import { showJob } from '../../core/look/show-job.ts';
import { Retried, Round } from '../documents/documents.ts';
import { pageDocument, startOf } from '../paging.ts';
import { Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { IdParams, Job, JobDetail, PageQuery, pageOf, wholeNumber } from '../schemas.ts';
import { JOB_FILTER, refuseEmptyRanges, toJobFilter } from './job-filter.ts';
import { found, jobDocument, noJob, readJob } from './jobs.ts';

const TAG = 'Jobs';
const ListQuery = PageQuery.extend(JOB_FILTER);

export const listJobs = defineRoute({
  method: 'get',
  path: '/admin/jobs',
  operation: 'listJobs',
  tag: TAG,
  summary: 'List jobs, newest first',
  scope: ['jobs:read'],
  query: ListQuery,
  answers: { 200: { description: 'A page of jobs.', schema: pageOf(Job) } },
  run: async ({ query, db }) => {
    const { limit, cursor, page, ...question } = query;
    refuseEmptyRanges('query', question);
    const { jobs, next } = await pageJobs(db, toJobFilter(question), startOf({ limit, cursor, page }, question));
    return { status: 200, body: pageDocument(jobs.map(snakeCase), next, question) };
  },
});

export const showAnyJob = defineRoute({
  method: 'get',
  path: '/admin/jobs/{id}',
  operation: 'showJob',
  tag: TAG,
  summary: 'Show a job with its attempts',
  scope: ['jobs:read'],
  params: IdParams,
  answers: { 200: { description: 'The job.', schema: JobDetail }, 404: { description: 'The job is unknown.' } },
  run: async (request) => ({ status: 200, body: await readJob(request) }),
});

export const retryRoute = defineRoute({
  method: 'post',
  path: '/admin/jobs/{id}/retry',
  operation: 'retryJob',
  tag: TAG,
  summary: 'Retry a dead or failed job now',
  scope: ['jobs:operate'],
  idempotent: true,
  params: IdParams,
  current: readJob,
  answers: {
    200: { description: 'The job is due.', schema: Retried },
    404: { description: 'The job is unknown.' },
    409: { description: 'The job is neither dead nor failed, or another request is changing it.' },
  },
  run: async ({ params: { id }, db }) => {
    const answer = await retryJob(db, id);
    if (answer === 'not_found') throw noJob();
    const shown = found(await showJob(db, id));
    if (answer === 'busy') throw new Problem('in-progress', 'another request is changing the job: try again');
    if (answer === 'not_dead') {
      throw new Problem(
        'invalid-state',
        `the job is ${shown.job.status}; only dead_letter and failed jobs can be retried`,
      );
    }
    return { status: 200, body: { ...jobDocument(shown), answer }, wake: true };
  },
});

export const removeJob = defineRoute({
  method: 'delete',
  path: '/admin/jobs/{id}',
  operation: 'deleteJob',
  tag: TAG,
  summary: 'Delete a waiting, dead or finished job',
  scope: ['jobs:delete'],
  params: IdParams,
  current: readJob,
  answers: {
    204: { description: 'The job is deleted; the audit log keeps an event.' },
    404: { description: 'The job is unknown.' },
    409: { description: 'The job is in flight, or another request is changing it.' },
  },
  run: async ({ params: { id }, db }) => {
    const answer = await deleteJob(db, id);
    if (answer === 'not_found') throw noJob();
    if (answer === 'busy') throw new Problem('in-progress', 'another request is changing the job: try again');
    if (answer === 'in_flight') {
      throw new Problem('invalid-state', `the job is in flight: cancel it first (POST /jobs/${id}/cancel), or wait`);
    }
    return { status: 204 };
  },
});

/** Lambda's error when the concurrency limit is reached. */
const THROTTLED = 'TooManyRequestsException';
export const processJobs = defineRoute({
  method: 'post',
  path: '/admin/jobs/process',
  operation: 'processJobs',
  tag: TAG,
  summary: 'Dispatch the due jobs now',
  scope: ['jobs:operate'],
  detached: true,
  body: z.strictObject({
    limit: wholeNumber(...CLAIM_LIMITS)
      .optional()
      .meta({ description: 'Largest number of jobs to claim. Default: all due jobs.' }),
  }),
  bodyOptional: true,
  answers: {
    200: { description: 'The result of the round.', schema: Round },
    429: {
      description: 'Too many requests at once: try again after Retry-After.',
      headers: { 'Retry-After': 'Seconds to wait.' },
    },
  },
  run: async ({ deps, body }) => {
    const { claimed, sent } = await deps.dispatcher.processNow(body?.limit).catch((cause: unknown) => {
      if ((cause as Error).name === THROTTLED) {
        const detail = 'Lambda throttles the dispatcher: try again in five seconds, or raise its concurrency limit';
        throw new Problem('rate-limited', detail, { cause, headers: { 'Retry-After': '5' } });
      }
      const detail = "the dispatcher's function could not run: check its log, then try again";
      throw new Problem('dispatcher-unavailable', detail, { cause });
    });
    return { status: 200, body: { claimed, sent } };
  },
});
