import * as z from 'zod';
import type { Scope } from '../../core/access/scopes.ts';
import { cancel } from '../../core/jobs/cancel.ts';
import { deleteJob } from '../../core/jobs/delete.ts';
import { retry } from '../../core/jobs/retry.ts';
import { pageJobs } from '../../core/look/page-jobs.ts';
import { databaseProblem } from '../database-problem.ts';
import { readCursor, writeCursor } from '../paging.ts';
import { invalidBody, Problem } from '../problem.ts';
import { type ApiRequest, defineRoute } from '../route.ts';
import { Id } from '../schemas.ts';
import { inOneTransaction } from '../serve.ts';
import { JOB_FILTER, toFilter } from './admin-jobs.ts';

const ACTIONS = { retry, cancel, delete: deleteJob } as const;
const SCOPES: Readonly<Record<keyof typeof ACTIONS, Scope>> = {
  retry: 'jobs:operate',
  cancel: 'jobs:operate',
  delete: 'jobs:delete',
};
/** What a job answers that was changed. */
const CHANGES = new Set(['redriven', 'due', 'cancelled', 'requested', 'deleted']);
const MOST_JOBS = 1000;
/** The function has 29 s, and each job that somebody holds can take one. */
const LONGEST_MS = 20_000;

const ActionBody = z
  .strictObject({
    action: z.enum(['retry', 'cancel', 'delete']).meta({ description: 'delete needs jobs:delete.' }),
    ids: z.array(Id).min(1).max(MOST_JOBS).optional().meta({ description: 'These jobs, and no filter.' }),
    ...JOB_FILTER,
    all: z.boolean().optional().meta({ description: 'Needed when there is no filter: every job is meant.' }),
    limit: z.number().int().min(1).max(MOST_JOBS).default(200).meta({ description: 'The most jobs of one request.' }),
    cursor: z.string().max(200).optional().meta({ description: 'next_cursor of an answer with the same filter.' }),
  })
  .meta({ id: 'JobAction', examples: [{ action: 'retry', status: ['failed'], job_type: ['send_reminder'] }] });

const ANSWERS = [...CHANGES, 'busy', 'in_flight', 'not_dead', 'finished', 'not_found'] as const;
const ActionAnswer = z
  .object({
    changed: z.number().int(),
    items: z.array(z.object({ id: Id, answer: z.enum(ANSWERS) })).meta({ description: 'In the order of their ids.' }),
    next_cursor: z.string().nullable(),
    has_more: z.boolean().meta({ description: 'More matched: ask again with the cursor.' }),
  })
  .meta({ id: 'JobActionAnswer' });

type Body = z.output<typeof ActionBody>;
type Asked = Pick<ApiRequest<undefined, undefined, Body>, 'body' | 'caller' | 'deps'>;

export const actOnJobs = defineRoute({
  method: 'post',
  path: '/admin/jobs/actions',
  operation: 'actOnJobs',
  tag: 'Jobs',
  summary: 'Retry, cancel or delete many jobs, by ids or by a filter',
  scope: ['jobs:operate', 'jobs:delete'],
  // A transaction a job: one that is locked or refused leaves the others as they were asked to be.
  detached: true,
  body: ActionBody,
  answers: { 200: { description: 'Each job says what became of it.', schema: ActionAnswer } },
  run: async (request) => {
    const { body, caller } = request;
    const needed = SCOPES[body.action];
    if (!caller.scopes.has(needed)) {
      const extra = { required_scope: needed, your_scopes: [...caller.scopes] };
      throw new Problem('forbidden', `to ${body.action} jobs needs the scope ${needed}`, { extra });
    }
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

/** The jobs that are meant, in the order of their ids. A cursor never meets what was enqueued after its first page. */
async function choose(request: Asked): Promise<{ ids: string[]; next: string | undefined }> {
  const { action: _action, ids, all, limit, cursor, ...question } = request.body;
  const isEmpty = Object.values(question).every((value) => value === undefined || value.length === 0);
  const ways = [ids !== undefined, !isEmpty, all === true].filter(Boolean).length;
  if (ways !== 1) throw invalidBody('/ids', 'give ids, or a filter, or all: true to mean every job');
  if (ids !== undefined) return { ids: ascending([...new Set(ids)]), next: undefined };
  const before = cursor === undefined ? undefined : readCursor(cursor, question);
  const { jobs, next } = await inOneTransaction(request, (tx) => pageJobs(tx, toFilter(question), { before, limit }));
  return { ids: ascending(jobs.map(({ id }) => id)), next: next === undefined ? next : writeCursor(next, question) };
}

async function act(request: Asked, id: string): Promise<string> {
  const verb = ACTIONS[request.body.action];
  return inOneTransaction(request, (tx): Promise<string> => verb(tx, id)).catch((error: unknown) => {
    // A lock that was not let go in time: this job alone has to wait.
    if (databaseProblem(error)?.kind === 'query-timeout') return 'busy';
    throw error;
  });
}

function ascending(ids: readonly string[]): string[] {
  return ids.toSorted((one, other) => Number(BigInt(one) - BigInt(other)));
}
