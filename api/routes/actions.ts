import * as z from 'zod';
import type { Scope } from '../../core/access/scopes.ts';
import { cancel } from '../../core/jobs/cancel.ts';
import { deleteJob } from '../../core/jobs/delete.ts';
import { retryJob } from '../../core/jobs/redrive.ts';
import { isEveryJob } from '../../core/look/job-filter.ts';
import { pageJobs } from '../../core/look/page-jobs.ts';
import { forbidden } from '../authenticate.ts';
import { databaseProblem } from '../database-problem.ts';
import { readCursor, writeCursor } from '../paging.ts';
import { invalidBody } from '../problem.ts';
import { type ApiRequest, defineRoute } from '../route.ts';
import { Id, wholeNumber } from '../schemas.ts';
import { inOneTransaction } from '../serve.ts';
import { JOB_FILTER, refuseEmptyRanges, toJobFilter } from './job-filter.ts';

const ACTIONS = { retry: retryJob, cancel, delete: deleteJob } as const;
const SCOPES: Readonly<Record<keyof typeof ACTIONS, Scope>> = {
  retry: 'jobs:operate',
  cancel: 'jobs:operate',
  delete: 'jobs:delete',
};
/** Outcomes of the jobs that were changed. */
const CHANGES = new Set(['redriven', 'due', 'cancelled', 'requested', 'deleted']);
const MOST_JOBS = 1000;
/** The function has 29 s, and each locked job can take one second. */
const LONGEST_MS = 20_000;

const ActionBody = z
  .strictObject({
    action: z.enum(['retry', 'cancel', 'delete']).meta({ description: 'delete requires the scope jobs:delete.' }),
    ids: z.array(Id).min(1).max(MOST_JOBS).optional().meta({ description: 'Ids of jobs, instead of a filter.' }),
    ...JOB_FILTER,
    all: z.boolean().optional().meta({ description: 'Selects every job; required without ids and filter.' }),
    limit: wholeNumber(1, MOST_JOBS).default(200).meta({ description: 'The maximum number of jobs in one request.' }),
    cursor: z.string().max(200).optional().meta({ description: 'next_cursor of a response to the same filter.' }),
  })
  .meta({ id: 'JobAction', examples: [{ action: 'retry', status: ['failed'], job_type: ['send_reminder'] }] });

const ANSWERS = [...CHANGES, 'busy', 'in_flight', 'not_dead', 'finished', 'not_found'] as const;
const ActionAnswer = z
  .object({
    changed: z.number().int(),
    items: z.array(z.object({ id: Id, answer: z.enum(ANSWERS) })).meta({ description: 'Ordered by id.' }),
    next_cursor: z.string().nullable(),
    has_more: z.boolean().meta({ description: 'Whether more jobs match: repeat the request with the cursor.' }),
  })
  .meta({ id: 'JobActionAnswer' });

type Body = z.output<typeof ActionBody>;
type ActionRequest = Pick<ApiRequest<undefined, undefined, Body>, 'body' | 'caller' | 'deps'>;

export const actOnJobs = defineRoute({
  method: 'post',
  path: '/admin/jobs/actions',
  operation: 'actOnJobs',
  tag: 'Jobs',
  summary: 'Retry, cancel or delete many jobs, by ids or by a filter',
  scope: ['jobs:operate', 'jobs:delete'],
  // One transaction per job: a job that is locked or refused does not undo the others.
  detached: true,
  body: ActionBody,
  answers: { 200: { description: 'The outcome for each job.', schema: ActionAnswer } },
  run: async (request) => {
    const { body, caller } = request;
    const required = SCOPES[body.action];
    if (!caller.scopes.has(required)) throw forbidden(caller, required, `the action ${body.action}`);
    const { ids, next } = await choose(request);
    const items: { id: string; answer: string }[] = [];
    const end = performance.now() + LONGEST_MS;
    for (const id of ids) items.push({ id, answer: performance.now() < end ? await act(request, id) : 'busy' });
    const changed = items.filter(({ answer }) => CHANGES.has(answer)).length;
    const next_cursor = next ?? null;
    return {
      status: 200,
      body: { changed, items, next_cursor, has_more: next !== undefined },
      wake: body.action === 'retry' && changed > 0,
    };
  },
});

/** Returns the selected jobs by id. A cursor never reaches jobs that were enqueued after its first page. */
async function choose(request: ActionRequest): Promise<{ ids: string[]; next: string | undefined }> {
  const { action: _action, ids, all, limit, cursor, ...question } = request.body;
  const isEmpty = isEveryJob(toJobFilter(question));
  const ways = [ids !== undefined, !isEmpty, all === true].filter(Boolean).length;
  if (ways !== 1) throw invalidBody('/ids', 'send ids, a filter, or all: true to select every job');
  refuseEmptyRanges('body', question);
  if (ids !== undefined) return { ids: ascending([...new Set(ids)]), next: undefined };
  const before = cursor === undefined ? undefined : readCursor(cursor, question);
  const { jobs, next } = await inOneTransaction(request, (tx) =>
    pageJobs(tx, toJobFilter(question), { before, limit }),
  );
  return { ids: ascending(jobs.map(({ id }) => id)), next: next === undefined ? next : writeCursor(next, question) };
}

async function act(request: ActionRequest, id: string): Promise<string> {
  const verb = ACTIONS[request.body.action];
  return inOneTransaction(request, (tx): Promise<string> => verb(tx, id)).catch((error: unknown) => {
    // The lock was not released in time: only this job is busy.
    if (databaseProblem(error)?.kind === 'query-timeout') return 'busy';
    throw error;
  });
}

function ascending(ids: readonly string[]): string[] {
  return ids.toSorted((one, other) => Number(BigInt(one) - BigInt(other)));
}
