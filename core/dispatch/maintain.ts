import { handlerName } from '../handler/naming.ts';
import { applyCancelRequests } from '../jobs/cancel.ts';
import { dieUnhandled, findUnhandled } from '../jobs/die-unhandled.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../numbers/emf.ts';
import type { CloudWatchName } from '../numbers/metric-table.ts';
import { readOldestDue } from '../numbers/stats.ts';
import type { Database } from '../postgres/database.ts';
import { analyzeJobs, returnHourlyWork, takeHourlyWork } from './dispatcher-run.ts';
import { type FoldedEvents, foldEvents, foldTimings } from './fold-events.ts';
import { pruneFinished, pruneHistory } from './prune.ts';

export interface MaintainDeps {
  readonly db: Database;
  readonly log: Log;
  /** Retention of finished jobs and their attempts, in seconds. */
  readonly retentionSeconds: number;
  /** Addresses already reported as unhandled, so that each is logged once. */
  readonly reported: Set<string>;
  readonly metrics?: Metrics;
}

const UNHANDLED_FOR_SECONDS = 24 * 3600;
const CANCEL_LIMIT = 1000;

/** Does the upkeep: applies cancel requests, adds up counters, ends jobs without a handler, deletes old rows. */
export async function maintain(deps: MaintainDeps): Promise<void> {
  await applyCancelRequests(deps.db, CANCEL_LIMIT);
  await publish(deps, await foldEvents(deps.db));
  await foldTimings(deps.db);
  await reportUnhandled(deps);
  if (!(await takeHourlyWork(deps.db))) return;
  const slots = await pruneFinished(deps.db, deps.retentionSeconds);
  const { rows, more } = await pruneHistory(deps.db, deps.retentionSeconds);
  deps.log.info('pruned', { days: slots, history_rows: rows });
  // A full batch means that rows are left: the next upkeep continues, and the last one updates the statistics.
  await (more ? returnHourlyWork : analyzeJobs)(deps.db);
}

const PUBLISHED: Readonly<Record<string, CloudWatchName>> = {
  enqueued: 'Enqueued',
  succeeded: 'Succeeded',
  failed: 'Failed',
  retried: 'Retried',
  dead_lettered: 'DeadLettered',
  manual_retry: 'ManualRetry',
};

/** Publishes the events that were just added to their totals, so that each event is published once. */
async function publish({ db, metrics }: MaintainDeps, folded: readonly FoldedEvents[]): Promise<void> {
  if (metrics === undefined) return;
  for (const [jobType, events] of Map.groupBy(folded, (one) => one.jobType)) {
    const values = events.flatMap(({ event, count }) => (PUBLISHED[event] ? [[PUBLISHED[event], count]] : []));
    metrics.put(Object.fromEntries(values), jobType);
  }
  const oldest = await readOldestDue(db);
  // Published even if no job is due, because an alarm reads the absence of this metric as a silent dispatcher.
  metrics.put({ OldestDueAge: Math.max(0, ...oldest.map(({ seconds }) => seconds)) });
}

async function reportUnhandled({ db, log, reported }: MaintainDeps): Promise<void> {
  for (const address of await findUnhandled(db)) {
    const name = handlerName(address);
    if (!reported.has(name)) log.warn('no_handler', { job_type: address.jobType, reason: `no handler for ${name}` });
    reported.add(name);
    const died = await dieUnhandled(db, address, UNHANDLED_FOR_SECONDS);
    if (died > 0) log.error('unhandled_jobs_dead', { job_type: address.jobType, jobs: died });
  }
}
