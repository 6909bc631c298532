import * as z from 'zod';
import { findMoved, previewRedrive } from '../../core/dead-letters/preview-redrive.ts';
import {
  cancelRedrive,
  type RedriveOperation,
  readRedrive,
  listRedrives as readRedrives,
  startRedrive,
} from '../../core/dead-letters/redrive-operation.ts';
import { snakeCase } from '../../core/json.ts';
import { ChangedRedrive, Preview, Redrive, ShownRedrive } from '../documents/documents.ts';
import { MOST_ELEMENTS } from '../json-body.ts';
import { rowsDocument, startOf } from '../paging.ts';
import { invalidBody, Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { Id, IdParams, PageQuery, pageOf, wholeNumber } from '../schemas.ts';
import { DEAD_LETTER_FILTER, pinDeadLetterFilter } from './dead-letters.ts';
import { Rate } from './new-operation.ts';

const TAG = 'Dead letters';

const RedriveBody = z
  .strictObject({
    ...DEAD_LETTER_FILTER,
    all: z.boolean().optional().meta({ description: 'Selects every open dead letter; required without a filter.' }),
    rate: Rate,
    limit: wholeNumber(1, 1_000_000_000).optional().meta({ description: 'The maximum number of jobs to move.' }),
  })
  .meta({ id: 'NewRedrive' });

export const createRedrive = defineRoute({
  method: 'post',
  path: '/admin/redrives',
  operation: 'startRedrive',
  tag: TAG,
  summary: 'Redrive the dead letters that match a filter',
  scope: ['jobs:operate'],
  idempotent: true,
  query: z.strictObject({ dry_run: z.boolean('expected true or false').default(false) }),
  body: RedriveBody,
  answers: {
    202: {
      description: 'The redrive is accepted; the dispatcher carries it out.',
      schema: ChangedRedrive,
      headers: { Location: 'URL of the redrive.' },
    },
    200: { description: 'With dry_run: the jobs that the redrive would move.', schema: Preview },
  },
  run: async ({ query, body, db }) => {
    const { all, rate, limit, ...question } = body;
    const isEmpty = Object.values(question).every((value) => value === undefined || value.length === 0);
    if (isEmpty !== (all === true)) {
      throw invalidBody(
        '/all',
        isEmpty
          ? 'send a filter, or all: true to select every open dead letter'
          : 'send a filter or all: true, not both',
      );
    }
    const filter = await pinDeadLetterFilter(db, question, 'body');
    if (query.dry_run) {
      const handlers = await previewRedrive(db, filter);
      const sum = (some: typeof handlers) => some.reduce((jobs, one) => jobs + one.jobs, 0);
      const movable = Math.min(sum(handlers.filter(({ verdict }) => verdict === 'movable')), limit ?? Infinity);
      return { status: 200, body: { movable, total: sum(handlers), handlers: handlers.map(snakeCase) } };
    }
    const id = await startRedrive(db, filter, { rate: rate ?? null, limit });
    const redrive = existing(await readRedrive(db, id));
    return { status: 202, headers: { Location: `/admin/redrives/${id}` }, body: snakeCase(redrive), wake: true };
  },
});

export const listRedrives = defineRoute({
  method: 'get',
  path: '/admin/redrives',
  operation: 'listRedrives',
  tag: TAG,
  summary: 'List redrives, newest first',
  scope: ['jobs:read'],
  query: PageQuery.extend({ status: Redrive.shape.status.optional() }),
  answers: { 200: { description: 'A page of redrives.', schema: pageOf(Redrive) } },
  run: async ({ query: { limit, cursor, page, ...question }, db }) => {
    const { before, skip } = startOf({ limit, cursor, page }, question);
    const found = await readRedrives(db, { status: question.status, before, skip, limit: limit + 1 });
    return { status: 200, body: rowsDocument(found, { limit, question, keyOf: ({ id }) => id }) };
  },
});

export const getRedrive = defineRoute({
  method: 'get',
  path: '/admin/redrives/{id}',
  operation: 'getRedrive',
  tag: TAG,
  summary: 'Show the progress of a redrive',
  scope: ['jobs:read'],
  params: IdParams,
  query: z.strictObject({
    job_id: z
      .array(Id)
      .max(MOST_ELEMENTS)
      .optional()
      .meta({ description: 'Jobs to check: moved_jobs lists those that the redrive moved.' }),
  }),
  answers: {
    200: { description: 'The state of the redrive.', schema: ShownRedrive },
    404: { description: 'The redrive is unknown.' },
  },
  run: async ({ params: { id }, query: { job_id: ids }, db }) => {
    const redrive = snakeCase(existing(await readRedrive(db, id)));
    return { status: 200, body: { ...redrive, ...(ids && { moved_jobs: await findMoved(db, id, ids) }) } };
  },
});

export const stopRedrive = defineRoute({
  method: 'post',
  path: '/admin/redrives/{id}/cancel',
  operation: 'cancelRedrive',
  tag: TAG,
  summary: 'Cancel a redrive; jobs already moved are not moved back',
  scope: ['jobs:operate'],
  params: IdParams,
  answers: {
    200: { description: 'The redrive is cancelled.', schema: ChangedRedrive },
    404: { description: 'The redrive is unknown.' },
    409: { description: 'The redrive has already ended.' },
  },
  run: async ({ params: { id }, db }) => {
    existing(await readRedrive(db, id));
    if (!(await cancelRedrive(db, id))) throw new Problem('invalid-state', 'the redrive has already ended');
    return { status: 200, body: snakeCase(existing(await readRedrive(db, id))) };
  },
});

function existing(redrive: RedriveOperation | undefined): RedriveOperation {
  if (redrive === undefined) throw new Problem('not-found', 'no redrive has this id');
  return redrive;
}
