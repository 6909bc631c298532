import { SettingError } from '../errors.ts';
import { countJobs, readDueJobs } from '../numbers/count-jobs.ts';
import type { Metrics } from '../numbers/emf.ts';
import { findFailing } from '../numbers/failing-types.ts';
import type { Queryable } from '../postgres/database.ts';
import { historyPrunes, pruneFinished } from './prune.ts';
import { runUpkeep, type UpkeepDeps, type UpkeepStep } from './run-upkeep.ts';

const LEAST_RETENTION_SECONDS = 3600;
const LONGEST_RETENTION_SECONDS = 30 * 86_400;
const HOUR = 3600;
const COUNT_JOBS = 'count_jobs';
const PRUNE_FINISHED = 'prune_finished';

const ANALYZE_JOBS = `select millrace.analyze_jobs()`;

/** Updates the statistics of the partitioned table, which autovacuum does not analyze. */
async function analyzeJobs(db: Queryable) {
  await db.query(ANALYZE_JOBS);
  return { position: null, rows: 0 };
}

/**
 * Returns the steps that run separately from dispatching: prunes, statistics, and the count of unfinished jobs.
 * @param retentionSeconds retention of finished jobs and of their attempts.
 * @throws SettingError unless the retention is an hour to 30 days, because finished jobs are in a ring of 32 days.
 */
export function upkeepSteps(retentionSeconds: number): readonly UpkeepStep[] {
  if (!(retentionSeconds >= LEAST_RETENTION_SECONDS && retentionSeconds <= LONGEST_RETENTION_SECONDS)) {
    throw new SettingError('retention', '1h to 30d', `${retentionSeconds}s`);
  }
  const prunes = Object.entries(historyPrunes(retentionSeconds)).map(([table, run]) => {
    return { name: `prune_${table}`, everySeconds: HOUR, run };
  });
  return [
    { name: COUNT_JOBS, everySeconds: 0, run: countJobs },
    { name: PRUNE_FINISHED, everySeconds: HOUR, run: (tx) => pruneFinished(tx, retentionSeconds) },
    ...prunes,
    { name: 'analyze_jobs', everySeconds: HOUR, run: analyzeJobs },
  ];
}

/** Publishes how many job types fail, and names the worst. Nothing without metrics. */
async function publishFailing({ db, log, metrics }: UpkeepDeps & { readonly metrics?: Metrics }): Promise<void> {
  if (metrics === undefined) return;
  const [worst, ...others] = await findFailing(db);
  metrics.put({ FailingJobTypes: worst === undefined ? 0 : 1 + others.length });
  if (worst === undefined) return;
  const { jobType, failed, succeeded } = worst;
  const more = others.length > 0 ? `; ${others.length} more job types fail` : '';
  const reason = `${jobType}: ${failed} attempts failed and ${succeeded} succeeded within an hour${more}`;
  log.warn('job_types_failing', { job_type: jobType, reason });
}

/** Runs the steps until `until`, logs what was deleted, and publishes the number of due jobs when it was counted. */
export async function doUpkeep(
  deps: UpkeepDeps & { readonly metrics?: Metrics },
  steps: readonly UpkeepStep[],
  until: number,
): Promise<void> {
  await publishFailing(deps).catch((error: unknown) => {
    deps.log.error('upkeep_failed', { upkeep_step: 'find_failing', error });
  });
  const done = await runUpkeep(deps, steps, until);
  const rows = [...done].filter(([name]) => name.startsWith('prune_') && name !== PRUNE_FINISHED);
  const days = done.get(PRUNE_FINISHED) ?? 0;
  const historyRows = rows.reduce((sum, [, count]) => sum + count, 0);
  if (days + historyRows > 0) deps.log.info('pruned', { days, history_rows: historyRows });
  if (!deps.metrics || !done.has(COUNT_JOBS)) return;
  for (const { jobType, due } of await readDueJobs(deps.db)) deps.metrics.put({ DueJobs: due }, jobType);
}
