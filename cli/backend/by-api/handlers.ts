import * as z from 'zod';
import { Handler } from '../../../api/documents/documents.ts';
import { type HandlerAddress, handlerName } from '../../../core/handler/naming.ts';
import type { Backend } from '../backend.ts';
import type { Client } from './client.ts';
import { fromDocument } from './document.ts';

const Handlers = z.object({ items: z.array(Handler.omit({ id: true })) });

export function handlersByApi(client: Client) {
  return {
    listHandlers: async (only?: HandlerAddress) => {
      const { items } = (await client.request('/admin/handlers', Handlers)).document;
      const wanted = only && handlerName(only);
      const handlers = items.map(fromDocument);
      return wanted === undefined ? handlers : handlers.filter((handler) => handlerName(handler) === wanted);
    },
    pauseHandler: (address) => client.send(`/admin/handlers/${handlerName(address)}/pause`, { method: 'PUT' }),
    resumeHandler: (address) => client.send(`/admin/handlers/${handlerName(address)}/resume`, { method: 'PUT' }),
  } satisfies Partial<Backend>;
}
