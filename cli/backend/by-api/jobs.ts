import * as z from 'zod';
import { Cancelled, Enqueued, Retried, TrackedJob } from '../../../api/documents/documents.ts';
import { Job } from '../../../api/schemas.ts';
import type { NamedJob } from '../../../core/dead-letters/preview-redrive.ts';
import type { NewJob } from '../../../core/enqueue/enqueue-options.ts';
import { jobBody } from '../../../core/enqueue/job-body.ts';
import { handlerName } from '../../../core/handler/naming.ts';
import { type JobRow, toJob } from '../../../core/job.ts';
import type { JobFilter } from '../../../core/look/job-filter.ts';
import type { ListedJob } from '../../../core/look/page-jobs.ts';
import type { Backend, SeenJob } from '../backend.ts';
import type { Client } from './client.ts';
import { fromDocument, memberTexts, withDates } from './document.ts';
import { ApiFailure } from './failure.ts';
import { jobFilterDocument } from './job-filter.ts';
import { readStats, timeOf } from './numbers.ts';
import { readPages } from './pages.ts';

/** The part of the answer of `/jobs/bulk` without faults. */
const BulkAnswer = z.object({
  items: z.array(
    z.object({ id: z.string(), routing_key: z.string(), deduplicated: z.boolean(), replaced: z.boolean() }),
  ),
});

type JobVerbs = Pick<
  Backend,
  'listJobs' | 'showJob' | 'readNamedJobs' | 'enqueue' | 'enqueueAll' | 'isHandled' | 'retry' | 'cancel' | 'deleteJob'
>;

export function jobsByApi(client: Client): JobVerbs {
  return {
    listJobs: (filter, limit) => listJobs(client, filter, limit),
    showJob: (id) => showJob(client, id),
    readNamedJobs: (ids) => readNamedJobs(client, ids),
    enqueue: (job) => enqueue(client, job),
    enqueueAll: (job) => enqueueAll(client, job),
    // The API accepts only jobs with a handler.
    isHandled: async () => true,
    retry: (id) => {
      const asked = client.request(`/admin/jobs/${id}/retry`, Retried, { method: 'POST' });
      const refusals = { 'not-found': 'not_found', 'invalid-state': 'not_dead', 'in-progress': 'busy' } as const;
      return orRefusal(answerOf(asked), refusals);
    },
    cancel: (id) => {
      const asked = client.request(`/jobs/${id}/cancel`, Cancelled, { method: 'POST' });
      return orRefusal(answerOf(asked), { 'not-found': 'not_found', 'invalid-state': 'finished' });
    },
    deleteJob: (id) => {
      const done = client.send(`/admin/jobs/${id}`, { method: 'DELETE' }).then(() => 'deleted' as const);
      const refusals = { 'not-found': 'not_found', 'invalid-state': 'in_flight', 'in-progress': 'busy' } as const;
      return orRefusal(done, refusals);
    },
  };
}

async function answerOf<Answer>(asked: Promise<{ document: { answer: Answer } }>): Promise<Answer> {
  return (await asked).document.answer;
}

/** Returns the answer, or the value that `refusals` has for the problem type of the response. */
export async function orRefusal<Answer, Refusal>(
  answer: Promise<Answer>,
  refusals: Readonly<Record<string, Refusal>>,
): Promise<Answer | Refusal> {
  try {
    return await answer;
  } catch (error) {
    const problem = error instanceof ApiFailure ? (error.problem ?? '') : '';
    if (!(problem in refusals)) throw error;
    return refusals[problem] as Refusal;
  }
}

async function listJobs(client: Client, filter: JobFilter, limit: number): Promise<ListedJob[]> {
  const time = async (at: JobFilter['createdFrom']) => (at === undefined ? at : timeOf(client, at));
  const { createdFrom, createdTo } = filter;
  const pinned = { ...filter, createdFrom: await time(createdFrom), createdTo: await time(createdTo) };
  const query = jobFilterDocument(pinned);
  const found = await readPages(client, { path: '/admin/jobs', item: Job, query }, limit);
  return found.map(fromDocument);
}

async function showJob(client: Client, id: string): Promise<SeenJob | undefined> {
  const answered = await orRefusal(client.request(`/jobs/${id}`, TrackedJob), { 'not-found': undefined });
  if (answered === undefined) return undefined;
  const { attempt_history: attempts, more_attempts: moreAttempts, waiting, ...document } = answered.document;
  const texts = memberTexts(answered.text);
  const payload = document.payload_too_large ? null : texts.get('payload');
  const result = document.result === null ? null : texts.get('result');
  // Members that the caller may not see are missing from the response, and stay undefined in the job.
  const job = toJob(withDates(document) as JobRow);
  return { job: { ...job, payload, result }, attempts: attempts?.map(fromDocument), moreAttempts, waiting };
}

async function enqueue(client: Client, job: NewJob) {
  const { document } = await client.request('/jobs', Enqueued, { method: 'POST', body: jobBody(job) });
  return { id: document.id, deduplicated: document.deduplicated, replaced: document.replaced };
}

async function enqueueAll(client: Client, job: NewJob) {
  const asked = { method: 'POST', body: `{"jobs":[${jobBody(job)}]}` } as const;
  const { items } = (await client.request('/jobs/bulk', BulkAnswer, asked)).document;
  return items.map(({ routing_key: routingKey, ...job }) => ({ ...job, routingKey }));
}

/** Reads one job after another: a person typed the ids, or they are the few that a command left. */
async function readNamedJobs(client: Client, ids: readonly string[]): Promise<NamedJob[]> {
  const named: NamedJob[] = [];
  for (const id of ids) {
    const { status = null, jobType = null, routingKey = null } = (await showJob(client, id))?.job ?? {};
    named.push({ id, status, jobType, routingKey, handled: false });
  }
  // `handled` matters for dead jobs only.
  if (named.every(({ status }) => status !== 'dead_letter')) return named;
  const handlers = new Set((await readStats(client)).handlers.map(({ handler }) => handler));
  return named.map((job) => ({ ...job, handled: handlers.has(nameOf(job)) }));
}

function nameOf({ jobType, routingKey }: NamedJob): string {
  return handlerName({ jobType: jobType ?? '', routingKey: routingKey ?? '' });
}
