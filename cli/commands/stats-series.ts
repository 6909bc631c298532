import { type Command, Option } from 'commander';
import type { Duration } from '../../core/duration.ts';
import { ALL_TYPES, type ReadSeries, type Series } from '../../core/numbers/series.ts';
import { type SeriesStep, STEPS } from '../../core/numbers/series-range.ts';
import type { Backend } from '../backend/backend.ts';
import { jobTypes, pastTime } from '../options/values.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { sparkline } from '../screen/sparkline.ts';
import { timeText } from '../screen/table.ts';
import { print, printMessage, printTable } from '../screen/terminal.ts';

/** The options of `millrace stats` for numbers over time. */
export interface SeriesOptions {
  readonly since?: Date | Duration;
  readonly until?: Date | Duration;
  readonly step?: SeriesStep;
  readonly jobType?: string[];
  readonly json?: boolean;
}

const HEADINGS = [
  ...['JOB TYPE', 'ENQUEUED', 'SUCCEEDED', 'FAILED', 'DEAD', 'WAIT P50', 'WAIT P95', 'RUN P50', 'RUN P95'],
  'ATTEMPTS OVER TIME',
];
const GRAPH_WIDTH = 24;

export function addSeriesOptions(command: Command): Command {
  return command
    .option(
      '--since <when>',
      'show the numbers of each job type since this time, or a duration such as 1h: minutes of the last 24 hours, ' +
        'hours of the last 31 days (default: 1h with one of the following options)',
      pastTime,
    )
    .option('--until <when>', 'numbers up to this time, in the same formats (default: now)', pastTime)
    .addOption(new Option('--step <step>', 'length of a point in the graph and in JSON').choices(STEPS))
    .option('--job-type <type>', 'numbers of these job types; separate with commas or repeat the option', jobTypes);
}

export function wantsSeries({ since, until, step, jobType }: SeriesOptions): boolean {
  return [since, until, step, jobType].some((option) => option !== undefined);
}

/** Prints the numbers of an interval, for each job type with events. */
export async function showSeries(backend: Backend, options: SeriesOptions): Promise<void> {
  const { since, until, step, jobType: types } = options;
  const wish = types === undefined ? { byJobType: true } : { jobTypes: types };
  const read = await backend.readSeries({ since, until, step, ...wish });
  if (options.json) {
    print(toJson(snakeCase({ ...read, series: read.series.map(snakeCase) })));
    return;
  }
  const shown = read.series.filter((one) => types !== undefined || one.jobType === ALL_TYPES || hasNumbers(one));
  printTable(HEADINGS, shown.map(rowOf));
  printMessage(intervalOf(read));
}

function hasNumbers({ totals }: Series): boolean {
  return Object.values(totals).some((value) => (value ?? 0) > 0);
}

function rowOf({ jobType, totals, points }: Series) {
  const attempts = points.succeeded.map((count, at) => count + (points.failed[at] ?? 0));
  return [
    ...[jobType, totals.enqueued, totals.succeeded, totals.failed, totals.dead_lettered],
    ...[totals.wait_p50, totals.wait_p95, totals.run_p50, totals.run_p95].map(secondsText),
    sparkline(attempts, GRAPH_WIDTH),
  ];
}

function secondsText(value: number | null): string {
  if (value === null) return '-';
  return value < 1 ? `${Math.round(value * 1000)}ms` : `${Number(value.toPrecision(3))}s`;
}

function intervalOf({ times, step }: ReadSeries): string {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return '';
  return `from ${timeText(first)}, by ${step}: ${times.length} points, the last one begins at ${timeText(last)}`;
}
