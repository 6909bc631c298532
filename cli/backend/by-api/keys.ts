import * as z from 'zod';
import { ApiKey, NewApiKey } from '../../../api/schemas.ts';
import type { ApiKey as Key, NewApiKey as Wanted } from '../../../core/access/api-keys.ts';
import type { Backend } from '../backend.ts';
import type { Client } from './client.ts';
import { fromDocument } from './document.ts';
import { orRefusal } from './jobs.ts';
import { readPages } from './pages.ts';

/** Returns the request body for a new key. */
export function keyBody({ name, scopes, expiresInSeconds }: Wanted): object {
  const expires = expiresInSeconds === undefined ? undefined : `${Math.ceil(expiresInSeconds)}s`;
  return { name, scopes, expires_in: expires };
}

/** Returns the new key in a response of the API's function; undefined when it contains none. */
export function readNewKey(answer: unknown): { key: Key; secret: string } | undefined {
  const { data } = NewApiKey.safeParse(answer);
  return data && newKey(data);
}

const Refused = z.object({ refused: z.string() });

/** Returns why the API's function created no key; undefined when it did, or failed. */
export function readRefusal(answer: unknown): string | undefined {
  return Refused.safeParse(answer).data?.refused;
}

function newKey({ secret, ...key }: z.output<typeof NewApiKey>): { key: Key; secret: string } {
  return { key: fromDocument(key), secret };
}

export function keysByApi(client: Client) {
  return {
    createApiKey: async (wanted) => {
      const body = JSON.stringify(keyBody(wanted));
      const { document } = await client.request('/admin/api-keys', NewApiKey, { method: 'POST', body });
      return newKey(document);
    },
    listApiKeys: async ({ limit }) => {
      return (await readPages(client, { path: '/admin/api-keys', item: ApiKey }, limit)).map(fromDocument);
    },
    revokeApiKey: async (id, { withMade }) => {
      const query = { with_made: withMade ? 'true' : undefined };
      const done = client.send(`/admin/api-keys/${id}`, { method: 'DELETE', query }).then(() => true);
      return orRefusal(done, { 'not-found': false });
    },
  } satisfies Partial<Backend>;
}
