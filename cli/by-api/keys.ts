import { ApiKey, NewApiKey } from '../../api/schemas.ts';
import type { Engine } from '../engine.ts';
import type { Client } from './client.ts';
import { fromDocument } from './document.ts';
import { orRefusal } from './jobs.ts';
import { readPages } from './pages.ts';

export function keysByApi(client: Client) {
  return {
    createApiKey: async ({ name, scopes, expiresInSeconds }) => {
      const expires = expiresInSeconds === undefined ? undefined : `${Math.ceil(expiresInSeconds)}s`;
      const body = JSON.stringify({ name, scopes, expires_in: expires });
      const { document } = await client.ask('/admin/api-keys', NewApiKey, { method: 'POST', body });
      const { secret, ...key } = document;
      return { key: fromDocument(key), secret };
    },
    listApiKeys: async ({ limit }) => {
      return (await readPages(client, { path: '/admin/api-keys', item: ApiKey }, limit)).map(fromDocument);
    },
    revokeApiKey: async (id) => {
      const done = client.tell(`/admin/api-keys/${id}`, { method: 'DELETE' }).then(() => true);
      return orRefusal(done, { 'not-found': false });
    },
  } satisfies Partial<Engine>;
}
