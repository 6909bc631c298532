import { Groups, Health } from '../../../api/documents.ts';
import { handlerName } from '../../../core/handler/naming.ts';
import { clockOf, deadOf, dispatcherOf, type Finding, handlersOf, unhandledOf } from '../../doctor/findings.ts';
import type { Client } from './client.ts';
import { ApiFailure } from './failure.ts';
import { handlersByApi } from './handlers.ts';
import { readStats } from './numbers.ts';

/** Checks what the API exposes, which excludes leases, the sweeps of the mirror and the registry. */
export async function examineApi(client: Client): Promise<Finding[]> {
  const api = await readiness(client);
  if (!api.ok) return [api];
  const { as_of, dispatcher_last_round_at: round, by_job_type: types } = await readStats(client);
  const handlers = await handlersByApi(client).listHandlers();
  const held = handlers.filter(({ heldUntil }) => heldUntil !== null);
  const handled = new Set(handlers.map(({ jobType }) => jobType));
  const waiting = Object.entries(types).filter(([, { pending, failed }]) => pending + failed > 0);
  const { total } = (await client.request('/admin/dlq/groups', Groups, { query: { limit: 1 } })).document;
  return [
    api,
    clockOf(new Date(as_of)),
    dispatcherOf(round === null ? null : (Date.parse(as_of) - Date.parse(round)) / 1000),
    ...handlersOf({
      handlers: handlers.length,
      paused: handlers.filter(({ pausedAt }) => pausedAt !== null).map(handlerName),
      held: held.map((handler) => `${handlerName(handler)}: ${handler.holdReason}`),
    }),
    unhandledOf(waiting.map(([jobType]) => jobType).filter((jobType) => !handled.has(jobType))),
    deadOf(total),
  ];
}

async function readiness(client: Client): Promise<Finding> {
  const next = 'check the log of the API, then its database';
  try {
    const { version } = (await client.request('/readyz', Health)).document;
    return { check: 'api', ok: true, detail: `ready, release ${version}`, next };
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.problem === undefined) throw error;
    return { check: 'api', ok: false, detail: error.message, next };
  }
}
