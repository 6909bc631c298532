import { handlerName } from '../handler/naming.ts';
import { applyCancelRequests } from '../jobs/cancel.ts';
import { dieUnhandled } from '../jobs/die-unhandled.ts';
import { raiseLowestClaims } from '../jobs/rescue.ts';
import type { Log } from '../log.ts';
import { countLate } from '../numbers/count-schedules.ts';
import type { Metrics } from '../numbers/emf.ts';
import type { CloudWatchName } from '../numbers/metric-table.ts';
import type { StalledHandler } from '../numbers/stalled-handlers.ts';
import type { Database } from '../postgres/database.ts';
import { advance } from '../postgres/step.ts';
import { systemTime } from '../time.ts';
import { type FoldedEvents, foldEvents, foldTimings } from './fold-events.ts';
import { openLongestWaits, type ReadLongestWaits } from './longest-waits.ts';

export interface MaintainDeps {
  readonly db: Database;
  readonly log: Log;
  /** Addresses already reported as unhandled, so that each is logged once. */
  readonly reported: Set<string>;
  /** Decides when to look for jobs without a handler. Default: each time. */
  readonly unhandled?: (work: () => Promise<boolean>) => Promise<void>;
  readonly metrics?: Metrics;
  /** Reads what waits longest, for the metrics. Default: looks each time. */
  readonly waits?: ReadLongestWaits;
}

const CANCEL_LIMIT = 1000;
const UNHANDLED = { name: 'unhandled', everySeconds: 0 };
const UNHANDLED_LIMITS = { afterSeconds: 24 * 3600, addresses: 500, jobs: 1000 };
/** Addresses that are remembered as reported; beyond that, all are reported again. */
const MOST_REPORTED = 5000;
/** Addresses that one line of the log names. */
const MOST_NAMED = 3;

/** Applies cancel requests, adds up counters and ends jobs without a handler. Each of them fails alone. */
export async function maintain(deps: MaintainDeps): Promise<void> {
  const steps: readonly (() => Promise<unknown>)[] = [
    () => raiseLowestClaims(deps.db),
    () => applyCancelRequests(deps.db, CANCEL_LIMIT),
    async () => publish(deps, await foldEvents(deps.db)),
    () => publishLate(deps),
    () => foldTimings(deps.db),
    () => (deps.unhandled ?? ((work) => work()))(() => reportUnhandled(deps)),
  ];
  for (const step of steps) {
    await step().catch((error: unknown) => deps.log.error('maintain_failed', { error }));
  }
}

const PUBLISHED: Readonly<Record<string, CloudWatchName>> = {
  enqueued: 'Enqueued',
  succeeded: 'Succeeded',
  failed: 'Failed',
  retried: 'Retried',
  dead_lettered: 'DeadLettered',
  manual_retry: 'ManualRetry',
  skipped: 'Skipped',
  cancelled: 'Cancelled',
};

/** Publishes the events that were just added to their totals, so that each event is published once. */
async function publish(deps: MaintainDeps, folded: readonly FoldedEvents[]): Promise<void> {
  const { db, metrics, waits = openLongestWaits(systemTime) } = deps;
  if (metrics === undefined) return;
  for (const [jobType, events] of Map.groupBy(folded, (one) => one.jobType)) {
    const values = events.flatMap(({ event, count }) => (PUBLISHED[event] ? [[PUBLISHED[event], count]] : []));
    metrics.put(Object.fromEntries(values), jobType);
  }
  const longest = await waits(db);
  if (longest === undefined) return;
  // Published even if no job is due, because an alarm reads their absence as a silent dispatcher.
  metrics.put({ OldestDueAge: longest.oldestSeconds, StalledHandlers: longest.stalled.length });
  reportStalled(deps, longest.stalled);
}

/** Names the handler that has been stalled longest, once in a run. */
function reportStalled({ log, reported }: MaintainDeps, [worst, ...others]: readonly StalledHandler[]): void {
  if (worst === undefined || reported.has(`stalled ${worst.queue}`)) return;
  reported.add(`stalled ${worst.queue}`);
  const minutes = Math.floor(worst.seconds / 60);
  const what = worst.sent
    ? `its function has received no message for ${minutes} min: check the mapping and the log of the function`
    : `its jobs have been due for ${minutes} min, and the dispatcher sends none`;
  const more = others.length > 0 ? `; ${others.length} more handlers are stalled` : '';
  log.warn('handlers_stalled', {
    ...{ job_type: worst.jobType, routing_key: worst.routingKey || undefined, queue: worst.queue },
    reason: `${handlerName(worst)}: ${what}${more}`,
  });
}

/** Publishes how many schedules are late; nothing without schedules, because each published metric costs money. */
async function publishLate({ db, metrics }: MaintainDeps): Promise<void> {
  const late = metrics && (await countLate(db));
  if (late !== undefined) metrics?.put({ LateSchedules: late });
}

/** Returns whether jobs that waited too long may be left. */
async function reportUnhandled({ db, log, reported }: MaintainDeps): Promise<boolean> {
  const part = await advance(db, UNHANDLED, (tx, position) => dieUnhandled(tx, position, UNHANDLED_LIMITS));
  const unhandled = (part?.unhandled ?? []).map((one) => ({ ...one, name: handlerName(one) }));
  const unreported = unhandled.filter(({ name }) => !reported.has(name));
  if (unreported.length > 0) log.warn('no_handler', whom(unreported));
  if (reported.size > MOST_REPORTED) reported.clear();
  for (const { name } of unreported) reported.add(name);
  const emptied = unhandled.filter(({ died }) => died > 0);
  const jobs = emptied.reduce((sum, { died }) => sum + died, 0);
  if (jobs > 0) log.error('unhandled_jobs_dead', { ...whom(emptied), jobs });
  return jobs >= UNHANDLED_LIMITS.jobs || (part?.position ?? null) !== null;
}

/** Names the first addresses and counts the others: a producer can mistype a job type in thousands of ways. */
function whom(addresses: readonly { readonly jobType: string; readonly name: string }[]) {
  const names = addresses.slice(0, MOST_NAMED).map(({ name }) => name);
  const others = addresses.length - names.length;
  return {
    job_type: addresses.length === 1 ? addresses[0]?.jobType : undefined,
    reason: `no handler for ${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`,
  };
}
