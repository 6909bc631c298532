import * as z from 'zod';
import { snakeCase } from '../../core/json.ts';
import {
  controlOperation,
  listOperations as list,
  type Operation as OperationState,
  type OperationVerb,
  readOperation,
} from '../../core/operations/operation.ts';
import { previewOperation, startOperation } from '../../core/operations/start-operation.ts';
import { ChangedOperation, Operation, OperationPreview } from '../documents/operation-documents.ts';
import { rowsDocument, startOf } from '../paging.ts';
import { Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { IdParams, PageQuery, pageOf } from '../schemas.ts';
import { demandScope, NewOperation, planOf, refuseFault } from './new-operation.ts';

const TAG = 'Operations';
/** How long a dry run counts, and how long a start counts for the progress. */
const DRY_RUN_MS = 8000;
const START_MS = 2000;

export const createOperation = defineRoute({
  method: 'post',
  path: '/admin/operations',
  operation: 'startOperation',
  tag: TAG,
  summary: 'Cancel, retry, discard, delete or reschedule the jobs that match a filter',
  scope: ['jobs:operate', 'jobs:delete'],
  idempotent: true,
  query: z.strictObject({ dry_run: z.boolean('expected true or false').default(false) }),
  body: NewOperation,
  answers: {
    202: {
      description: 'The operation is accepted; the dispatcher carries it out.',
      schema: ChangedOperation,
      headers: { Location: 'URL of the operation.' },
    },
    200: { description: 'With dry_run: the jobs that the operation would change.', schema: OperationPreview },
  },
  run: async ({ query, body, db, caller }) => {
    demandScope(caller, body.action);
    const plan = await planOf(db, body);
    const preview = await previewOperation(db, plan, query.dry_run ? DRY_RUN_MS : START_MS).catch(refuseFault);
    if (query.dry_run) {
      const { groups, ...counted } = preview;
      return { status: 200, body: { ...snakeCase(counted), counts: groups.map(snakeCase) } };
    }
    const { run_at, priority, rate, reason } = body;
    const id = await startOperation(db, {
      ...plan,
      ...{ rate, reason, asOf: plan.asOf ?? preview.asOf, expected: preview.complete ? preview.matched : undefined },
      change: body.action === 'reschedule' ? { run_at, priority } : undefined,
    }).catch(refuseFault);
    const operation = snakeCase(existing(await readOperation(db, id)));
    return { status: 202, headers: { Location: `/admin/operations/${id}` }, body: operation, wake: true };
  },
});

export const listOperations = defineRoute({
  method: 'get',
  path: '/admin/operations',
  operation: 'listOperations',
  tag: TAG,
  summary: 'List operations and redrives, newest first',
  scope: ['jobs:read'],
  query: PageQuery.extend({ status: Operation.shape.status.optional(), kind: Operation.shape.kind.optional() }),
  answers: { 200: { description: 'A page of operations.', schema: pageOf(Operation) } },
  run: async ({ query: { limit, cursor, page, ...question }, db }) => {
    const { before, skip } = startOf({ limit, cursor, page }, question);
    const found = await list(db, { ...question, before, skip, limit: limit + 1 });
    return { status: 200, body: rowsDocument(found, { limit, question, keyOf: ({ id }) => id }) };
  },
});

export const getOperation = defineRoute({
  method: 'get',
  path: '/admin/operations/{id}',
  operation: 'getOperation',
  tag: TAG,
  summary: 'Show the progress of an operation or redrive',
  scope: ['jobs:read'],
  params: IdParams,
  answers: {
    200: { description: 'The state of the operation.', schema: Operation },
    404: { description: 'The operation is unknown.' },
  },
  run: async ({ params: { id }, db }) => ({ status: 200, body: snakeCase(existing(await readOperation(db, id))) }),
});

function control(verb: OperationVerb, summary: string, refusal: string) {
  return defineRoute({
    method: 'post',
    path: `/admin/operations/{id}/${verb}`,
    operation: `${verb}Operation`,
    tag: TAG,
    summary,
    scope: ['jobs:operate', 'jobs:delete'],
    params: IdParams,
    answers: {
      200: { description: 'The new state of the operation.', schema: ChangedOperation },
      404: { description: 'The operation is unknown.' },
      409: { description: 'The state of the operation does not permit it.' },
    },
    run: async ({ params: { id }, db, caller }) => {
      const { kind } = existing(await readOperation(db, id));
      demandScope(caller, kind === 'redrive' ? 'retry' : kind);
      if (!(await controlOperation(db, id, verb))) throw new Problem('invalid-state', refusal);
      const now = snakeCase(existing(await readOperation(db, id)));
      return { status: 200, body: now, wake: verb === 'resume' };
    },
  });
}

export const pauseOperation = control('pause', 'Pause an operation or redrive', 'the operation is not running');
export const resumeOperation = control('resume', 'Resume a paused operation or redrive', 'the operation is not paused');
export const stopOperation = control(
  'cancel',
  'Cancel an operation or redrive; changed jobs stay changed',
  'the operation has already ended',
);

function existing(operation: OperationState | undefined): OperationState {
  if (operation === undefined) throw new Problem('not-found', 'no operation has this id');
  return operation;
}
