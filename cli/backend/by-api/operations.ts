import type * as z from 'zod';
import { ChangedOperation, Operation, OperationPreview } from '../../../api/documents/operation-documents.ts';
import { isEveryJob } from '../../../core/look/job-filter.ts';
import type { Operation as OperationState } from '../../../core/operations/operation.ts';
import type { OperationPlan } from '../../../core/operations/start-operation.ts';
import type { Backend } from '../backend.ts';
import type { Client } from './client.ts';
import { fromDocument } from './document.ts';
import { jobFilterDocument } from './job-filter.ts';
import { orRefusal } from './jobs.ts';
import { readPages } from './pages.ts';

const PATH = '/admin/operations';

export function operationsByApi(client: Client) {
  return {
    previewOperation: async (plan) => {
      const asked = { method: 'POST', query: { dry_run: 'true' }, body: bodyOf(plan) } as const;
      const { counts, as_of, ...preview } = (await client.request(PATH, OperationPreview, asked)).document;
      return { ...preview, asOf: as_of, groups: counts.map(fromDocument) };
    },
    startOperation: async ({ change, reason, rate, expected: _counted, ...plan }) => {
      const body = bodyOf(plan, { ...change, reason, rate });
      return (await client.request(PATH, ChangedOperation, { method: 'POST', body })).document.id;
    },
    stepOperation: undefined,
    listOperations: async ({ limit }) => (await readPages(client, { path: PATH, item: Operation }, limit)).map(toState),
    readOperation: async (id) => {
      const found = await orRefusal(client.request(`${PATH}/${id}`, Operation), { 'not-found': undefined });
      return found && toState(found.document);
    },
    controlOperation: async (id, verb) => {
      const done = client.request(`${PATH}/${id}/${verb}`, ChangedOperation, { method: 'POST' }).then(() => true);
      return orRefusal(done, { 'not-found': false, 'invalid-state': false });
    },
  } satisfies Partial<Backend>;
}

function toState({ as_of, ...document }: z.output<typeof Operation>): OperationState {
  return { ...fromDocument(document), asOf: new Date(as_of) };
}

function bodyOf({ action, filter, limit, asOf }: OperationPlan, more: object = {}): string {
  const all = isEveryJob(filter) || undefined;
  return JSON.stringify({ action, ...jobFilterDocument(filter), all, limit, as_of: asOf, ...more });
}
