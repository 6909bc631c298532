import type { Command } from 'commander';
import { LIVE_STATUSES } from '../../core/job.ts';
import type { Stats } from '../../core/numbers/stats.ts';
import type { Overview } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { print, printPairs, suggest, warn } from '../screen/terminal.ts';

/** Two ticks of the schedule can be this far apart. */
const DISPATCHER_LATE_MS = 120_000;

/** `millrace stats` */
export function addStats(program: Command): void {
  program
    .command('stats')
    .description('how things stand: what waits, what is late, what is dead, and whether jobs are dispatched')
    .addHelpText('before', examples('stats', 'stats --json'))
    .action(
      action(async (options: GlobalOptions) => {
        const overview = await withBackend(options, (backend) => backend.readOverview());
        if (options.json) print(toJson(documentOf(overview)));
        else show(overview);
        return undefined;
      }),
    );
}

function countOf({ jobs }: Stats, status: string): number {
  return jobs.filter((one) => one.status === status).reduce((sum, { count }) => sum + count, 0);
}

function documentOf({ stats, handlers, redrives }: Overview) {
  return {
    as_of: stats.asOf,
    counted_at: stats.countedAt,
    jobs: Object.fromEntries(LIVE_STATUSES.map((status) => [status, countOf(stats, status)])),
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
    ...oldestDue.map(({ jobType, seconds }) => ['oldest due', `${jobType}, for ${Math.round(seconds)} s`] as const),
    ...throughput.map(({ event, last5Minutes, lastHour }) => {
      return [event, `${last5Minutes} in 5 minutes, ${lastHour} in an hour`] as const;
    }),
    ['in DLQs', `${sum(handlers.map(({ depth }) => depth))} messages, when the mirror looked last`],
    ...handlers.filter(({ paused }) => paused).map(({ handler }) => ['paused', handler] as const),
    ...redrives.map(({ id, done, expected }) => ['redrive', `${id}: ${done} of ${expected}`] as const),
    ['dispatcher', dispatcherLastRoundAt],
  ]);
  if (dispatcherLastRoundAt === null || asOf.getTime() - dispatcherLastRoundAt.getTime() > DISPATCHER_LATE_MS) {
    warn('no dispatcher has made a round for two minutes: jobs that are due wait');
    suggest('npx millrace doctor');
  } else if (countOf(stats, 'dead_letter') > 0) suggest('npx millrace dlq');
}
