import * as z from 'zod';
import { deleteJob } from '../../core/jobs/delete.ts';
import { retry } from '../../core/jobs/retry.ts';
import { snakeCase } from '../../core/json.ts';
import { type PageFilter, pageJobs } from '../../core/look/page-jobs.ts';
import { showJob } from '../../core/look/show-job.ts';
import { Retried, Round } from '../documents.ts';
import { pageDocument, startOf } from '../paging.ts';
import { Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import {
  IdParams,
  Job,
  JobDetail,
  JobTypeName,
  PageQuery,
  pageOf,
  RoutingKeyName,
  Status,
  Time,
  Words,
} from '../schemas.ts';
import { found, jobDocument, noJob, readJob } from './jobs.ts';

const TAG = 'Jobs';
/** Which jobs are meant: those that match every part given. */
export const JOB_FILTER = {
  status: z.array(Status).optional().meta({ description: 'Any of these.' }),
  job_type: z.array(JobTypeName).optional().meta({ description: 'Any of these.' }),
  routing_key: RoutingKeyName.optional(),
  unique_key: Words.optional(),
  error: Words.optional().meta({ description: 'A part of the last error, whatever the case.' }),
  created_from: Time.optional(),
  created_to: Time.optional(),
};
const ListQuery = PageQuery.extend(JOB_FILTER);

export const listJobs = defineRoute({
  method: 'get',
  path: '/admin/jobs',
  operation: 'listJobs',
  tag: TAG,
  summary: 'List jobs, the newest first',
  scope: ['jobs:read'],
  query: ListQuery,
  answers: { 200: { description: 'A page.', schema: pageOf(Job) } },
  run: async ({ query, db }) => {
    const { limit, cursor, page, ...question } = query;
    const { jobs, next } = await pageJobs(db, toFilter(question), startOf({ limit, cursor, page }, question));
    return { status: 200, body: pageDocument(jobs.map(snakeCase), next, question) };
  },
});

export function toFilter(question: Omit<z.output<typeof ListQuery>, 'limit' | 'cursor' | 'page'>): PageFilter {
  const { status = [], job_type = [], routing_key, unique_key, error, created_from, created_to } = question;
  const time = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
  return {
    ...{ statuses: status, jobTypes: job_type, routingKey: routing_key, uniqueKey: unique_key, error },
    ...{ createdFrom: time(created_from), createdTo: time(created_to) },
  };
}

export const showAnyJob = defineRoute({
  method: 'get',
  path: '/admin/jobs/{id}',
  operation: 'showJob',
  tag: TAG,
  summary: 'Show a job with its attempts',
  scope: ['jobs:read'],
  params: IdParams,
  answers: { 200: { description: 'The job.', schema: JobDetail }, 404: { description: 'There is no such job.' } },
  run: async (request) => ({ status: 200, body: await readJob(request) }),
});

export const retryJob = defineRoute({
  method: 'post',
  path: '/admin/jobs/{id}/retry',
  operation: 'retryJob',
  tag: TAG,
  summary: 'Try a job again now',
  scope: ['jobs:operate'],
  idempotent: true,
  params: IdParams,
  current: readJob,
  answers: {
    200: { description: 'It is due.', schema: Retried },
    404: { description: 'There is no such job.' },
    409: { description: 'It is neither dead nor failed, or is being changed.' },
  },
  run: async ({ params: { id }, db, caller }) => {
    const answer = await retry(db, id);
    if (answer === 'not_found') throw noJob();
    const shown = found(await showJob(db, id));
    if (answer === 'busy') throw new Problem('in-progress', 'somebody else is changing it: try again');
    if (answer === 'not_dead') {
      throw new Problem('invalid-state', `it is ${shown.job.status}; only dead_letter and failed jobs are tried again`);
    }
    return { status: 200, body: { ...jobDocument(shown, caller), answer }, wake: true };
  },
});

export const removeJob = defineRoute({
  method: 'delete',
  path: '/admin/jobs/{id}',
  operation: 'deleteJob',
  tag: TAG,
  summary: 'Delete a job that waits, is dead or has finished',
  scope: ['jobs:delete'],
  params: IdParams,
  current: readJob,
  answers: {
    204: { description: 'It is gone; a line in the audit log stays.' },
    404: { description: 'There is no such job.' },
    409: { description: 'A handler has it, or it is being changed.' },
  },
  run: async ({ params: { id }, db }) => {
    const answer = await deleteJob(db, id);
    if (answer === 'not_found') throw noJob();
    if (answer === 'busy') throw new Problem('in-progress', 'somebody else is changing it: try again');
    if (answer === 'in_flight') {
      throw new Problem('invalid-state', `a handler has it: cancel it first (POST /jobs/${id}/cancel), or wait`);
    }
    return { status: 204 };
  },
});

/** What Lambda answers when no more invocations may run at once. */
const THROTTLED = 'TooManyRequestsException';
export const processJobs = defineRoute({
  method: 'post',
  path: '/admin/jobs/process',
  operation: 'processJobs',
  tag: TAG,
  summary: 'Dispatch what is due now',
  scope: ['jobs:operate'],
  detached: true,
  answers: {
    200: { description: 'The round was made.', schema: Round },
    429: { description: 'Too many ask for one: again after Retry-After.', headers: { 'Retry-After': 'Seconds.' } },
  },
  run: async ({ deps }) => {
    const { claimed, sent } = await deps.dispatcher.processNow().catch((cause: unknown) => {
      if ((cause as Error).name === THROTTLED) {
        const headers = { 'Retry-After': '5' };
        throw new Problem(
          'rate-limited',
          'its function is throttled: ask again in five seconds; if that lasts, look at its concurrency',
          {
            cause,
            headers,
          },
        );
      }
      throw new Problem('dispatcher-unavailable', 'its function could not be run: see its log, then try again', {
        cause,
      });
    });
    return { status: 200, body: { claimed, sent } };
  },
});
