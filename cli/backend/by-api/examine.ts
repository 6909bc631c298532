import { Groups, Health } from '../../../api/documents/documents.ts';
import { handlerName } from '../../../core/handler/naming.ts';
import type { LateHandler } from '../../../core/look/check-up.ts';
import { attemptCheck } from '../../doctor/attempt-check.ts';
import {
  clockOf,
  deadOf,
  dispatcherOf,
  type Finding,
  failuresOf,
  handlersOf,
  LATE_SECONDS,
  lateOf,
  schedulesOf,
  unhandledOf,
} from '../../doctor/findings.ts';
import type { Client } from './client.ts';
import { ApiFailure } from './failure.ts';
import { handlersByApi } from './handlers.ts';
import { readStats, toStats } from './numbers.ts';
import { schedulesByApi } from './schedules.ts';

/** Checks what the API exposes, which excludes leases, the sweeps of the mirror and the registry. */
export async function* examineApi(client: Client): AsyncGenerator<Finding> {
  const api = await readiness(client);
  yield api;
  if (!api.ok) return;
  yield* await attemptCheck('jobs', () => examineJobs(client), isNoAnswer);
  yield* await attemptCheck('schedules', () => examineSchedules(client), isNoAnswer);
  yield* await attemptCheck('dead letters', () => examineDeadLetters(client), isNoAnswer);
}

/** Returns whether the error is not a response from our API: further requests would then fail too. */
function isNoAnswer(error: unknown): boolean {
  return !(error instanceof ApiFailure) || error.problem === undefined;
}

async function examineJobs(client: Client): Promise<Finding[]> {
  const document = await readStats(client);
  const { asOf, dispatcherLastRoundAt: round, throughput, oldestDue } = toStats(document);
  const handlers = await handlersByApi(client).listHandlers();
  const held = handlers.filter(({ heldUntil }) => heldUntil !== null);
  const handled = new Set(handlers.map(({ jobType }) => jobType));
  const waiting = Object.entries(document.by_job_type).filter(([, { pending, failed }]) => pending + failed > 0);
  const open = handlers.filter(({ pausedAt, heldUntil }) => pausedAt === null && heldUntil === null);
  const late = oldestDue
    .filter(({ seconds }) => seconds > LATE_SECONDS)
    .flatMap(({ jobType, seconds }): LateHandler[] =>
      open.filter((one) => one.jobType === jobType).map((one) => ({ ...one, handler: handlerName(one), seconds })),
    );
  return [
    clockOf(asOf),
    dispatcherOf(round === null ? null : (asOf.getTime() - round.getTime()) / 1000),
    ...handlersOf({
      handlers: handlers.length,
      paused: handlers.filter(({ pausedAt }) => pausedAt !== null).map(handlerName),
      held: held.map((handler) => `${handlerName(handler)}: ${handler.holdReason}`),
    }),
    lateOf(late),
    failuresOf(throughput),
    unhandledOf(waiting.map(([jobType]) => jobType).filter((jobType) => !handled.has(jobType))),
  ];
}

/** More schedules than most deployments have; the check reads this many. */
const MOST_SCHEDULES = 10_000;

async function examineSchedules(client: Client): Promise<Finding> {
  const schedules = await schedulesByApi(client).listSchedules({ limit: MOST_SCHEDULES });
  const states = Map.groupBy(schedules, ({ state }) => state);
  return schedulesOf(
    [...states].map(([state, some]) => ({
      state,
      count: some.length,
      names: some.slice(0, 5).map(({ schedule }) => schedule),
      faults: some.slice(0, 5).map(({ fault }) => fault),
    })),
  );
}

async function examineDeadLetters(client: Client): Promise<Finding> {
  return deadOf((await client.request('/admin/dlq/groups', Groups, { query: { limit: 1 } })).document.total);
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
