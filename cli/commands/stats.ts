import type { Command } from 'commander';
import { DISPATCHER_SILENT_SECONDS } from '../../core/handler/timing.ts';
import { FINISHED_STATUSES, LIVE_STATUSES, STATUSES } from '../../core/job.ts';
import type { Stats } from '../../core/numbers/stats.ts';
import type { Overview } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { print, printPairs, suggest, warn } from '../screen/terminal.ts';
import { addSeriesOptions, type SeriesOptions, showSeries, wantsSeries } from './stats-series.ts';

interface StatsOptions extends GlobalOptions, SeriesOptions {}

/** `millrace stats` */
export function addStats(program: Command): void {
  addSeriesOptions(program.command('stats'))
    .description('show job counts, overdue jobs, dead letters, redrives, and whether the dispatcher is running')
    .addHelpText('after', examples('stats', 'stats --json', 'stats --since 1h', 'stats --since 7d --step hour --json'))
    .action(
      action(async (options: StatsOptions) => {
        await withBackend(options, async (backend) => {
          if (wantsSeries(options)) return showSeries(backend, options);
          const overview = await backend.readOverview();
          if (options.json) print(toJson(documentOf(overview)));
          else show(overview);
        });
        return undefined;
      }),
    );
}

function countOf({ jobs, finished }: Stats, status: string): number {
  return [...jobs, ...finished].filter((one) => one.status === status).reduce((sum, { count }) => sum + count, 0);
}

function documentOf({ stats, handlers, redrives }: Overview) {
  return {
    as_of: stats.asOf,
    counted_at: stats.countedAt,
    jobs: Object.fromEntries(STATUSES.map((status) => [status, countOf(stats, status)])),
    oldest_due: stats.oldestDue.map(snakeCase),
    throughput: stats.throughput.map(({ event, last5Minutes, lastHour }) => ({
      ...{ event, last_5_minutes: last5Minutes, last_hour: lastHour },
    })),
    dispatcher_last_round_at: stats.dispatcherLastRoundAt,
    handlers,
    redrives: redrives.map(snakeCase),
  };
}

function show({ stats, handlers, redrives }: Overview): void {
  const { asOf, countedAt, oldestDue, throughput, dispatcherLastRoundAt } = stats;
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  printPairs([
    ...LIVE_STATUSES.map((status) => [status, countOf(stats, status)] as const),
    ['counted', countedAt],
    ['finished', FINISHED_STATUSES.map((status) => `${countOf(stats, status)} ${status}`).join(', ')],
    ...oldestDue.map(({ jobType, seconds }) => ['oldest due', `${jobType}, for ${Math.round(seconds)} s`] as const),
    ...throughput.map(({ event, last5Minutes, lastHour }) => {
      return [event, `${last5Minutes} in 5 minutes, ${lastHour} in an hour`] as const;
    }),
    ['in DLQs', `${sum(handlers.map(({ depth }) => depth))} messages at the last sweep of the mirror`],
    ...handlers.filter(({ paused }) => paused).map(({ handler }) => ['paused', handler] as const),
    ...redrives.map(({ id, done, expected }) => ['redrive', `${id}: ${done} of ${expected}`] as const),
    ['dispatcher', dispatcherLastRoundAt],
  ]);
  const silentMs = asOf.getTime() - (dispatcherLastRoundAt?.getTime() ?? 0);
  if (silentMs > DISPATCHER_SILENT_SECONDS * 1000) {
    warn('no dispatcher has run a round for two minutes: due jobs wait');
    suggest('npx millrace doctor');
  } else if (countOf(stats, 'dead_letter') > 0) suggest('npx millrace dlq');
}
