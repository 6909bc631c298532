import * as z from 'zod';
import { type HandlerAddress, handlerName } from '../../core/handler/naming.ts';
import { snakeCase } from '../../core/json.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import { listHandlers, type RegisteredHandler } from '../../core/registry/list-handlers.ts';
import { pauseHandler, resumeHandler } from '../../core/registry/pause-handler.ts';
import { ChangedHandler, Handler } from '../documents/documents.ts';
import { Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';

const TAG = 'Handlers';
const HandlerParams = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$/, 'expected a handler such as send_reminder or index_record.vector')
    .meta({ example: 'send_reminder' }),
});

export const getHandlers = defineRoute({
  method: 'get',
  path: '/admin/handlers',
  operation: 'listHandlers',
  tag: TAG,
  summary: 'List the deployed handlers',
  scope: ['jobs:read'],
  answers: { 200: { description: 'Every handler.', schema: z.object({ items: z.array(Handler) }) } },
  run: async ({ db }) => ({ status: 200, body: { items: (await listHandlers(db)).map(toDocument) } }),
});

export const pause = defineRoute({
  method: 'put',
  path: '/admin/handlers/{id}/pause',
  operation: 'pauseHandler',
  tag: TAG,
  summary: 'Pause a handler; jobs in flight finish',
  scope: ['jobs:operate'],
  params: HandlerParams,
  answers: {
    200: { description: 'The handler is paused.', schema: ChangedHandler },
    404: { description: 'The handler is not deployed.' },
  },
  run: async ({ params, db }) => change(db, params.id, pauseHandler),
});

export const resume = defineRoute({
  method: 'put',
  path: '/admin/handlers/{id}/resume',
  operation: 'resumeHandler',
  tag: TAG,
  summary: 'Resume a paused handler',
  scope: ['jobs:operate'],
  params: HandlerParams,
  answers: {
    200: { description: 'The handler is not paused.', schema: ChangedHandler },
    404: { description: 'The handler is not deployed.' },
  },
  run: async ({ params, db }) => ({ ...(await change(db, params.id, resumeHandler)), wake: true }),
});

async function change(db: Queryable, id: string, apply: (db: Queryable, address: HandlerAddress) => Promise<void>) {
  const [jobType = '', routingKey = ''] = id.split('.');
  const address = { jobType, routingKey };
  await apply(db, address);
  const [handler] = await listHandlers(db, address);
  if (handler === undefined) throw new Problem('not-found', `handler ${id} is not deployed: see GET /admin/handlers`);
  return { status: 200, body: toDocument(handler) };
}

function toDocument(handler: RegisteredHandler): Record<string, unknown> {
  return { id: handlerName(handler), ...snakeCase(handler) };
}
