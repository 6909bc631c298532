import { ChangedRedrive, Preview, Redrive, ShownRedrive } from '../../../api/documents/documents.ts';
import type { RedriveOperation } from '../../../core/dead-letters/redrive-operation.ts';
import type { Backend } from '../backend.ts';
import type { Client } from './client.ts';
import { filterBody } from './dead-letters.ts';
import { fromDocument } from './document.ts';
import { orRefusal } from './jobs.ts';
import { readPages } from './pages.ts';

export function redrivesByApi(client: Client) {
  return {
    listRedrives: async ({ limit, status }) => {
      const list = { path: '/admin/redrives', item: Redrive, query: { status } };
      return (await readPages(client, list, limit)).map(fromDocument);
    },
    readRedrive: (id) => readRedrive(client, id),
    previewRedrive: async (filter) => {
      const asked = { method: 'POST', query: { dry_run: 'true' }, body: filterBody(filter) } as const;
      return (await client.request('/admin/redrives', Preview, asked)).document.handlers.map(fromDocument);
    },
    startRedrive: async (filter, { rate, limit }) => {
      const body = filterBody(filter, { rate: rate ?? undefined, limit });
      return (await client.request('/admin/redrives', ChangedRedrive, { method: 'POST', body })).document.id;
    },
    stepRedrive: undefined,
    cancelRedrive: async (id) => {
      const done = client.request(`/admin/redrives/${id}/cancel`, ChangedRedrive, { method: 'POST' }).then(() => true);
      return orRefusal(done, { 'not-found': false, 'invalid-state': false });
    },
    findMoved: async (id, ids) => {
      const query = { job_id: ids };
      return (await client.request(`/admin/redrives/${id}`, ShownRedrive, { query })).document.moved_jobs ?? [];
    },
  } satisfies Partial<Backend>;
}

async function readRedrive(client: Client, id: string): Promise<RedriveOperation | undefined> {
  const found = await orRefusal(client.request(`/admin/redrives/${id}`, Redrive), { 'not-found': undefined });
  return found && fromDocument(found.document);
}
