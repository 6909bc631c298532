import type { Duration } from '../duration.ts';
import { suggestName } from '../handler/other-words.ts';
import type { Queryable } from '../postgres/database.ts';
import { pinTime } from '../postgres/pin-time.ts';
import { OTHERS } from './live-counts.ts';
import { chooseRange, type SeriesFault, type SeriesStep } from './series-range.ts';

/** The series of all job types. No job type begins with `_`. */
export const ALL_TYPES = '_all';
/** The most points of all series of one response: an hour of 300 job types by minute. */
export const MOST_POINTS = 20_000;
const DEFAULT_SINCE = '1h';

/** Numbers of events. */
export const SERIES_COUNTS = [
  'enqueued',
  'succeeded',
  'failed',
  'retried',
  'dead_lettered',
  'manual_retry',
  'skipped',
  'cancelled',
] as const;
/** Times in seconds: from due to start, and from the start of an attempt to its outcome. Null without attempts. */
export const SERIES_TIMES = ['wait_p50', 'wait_p95', 'run_p50', 'run_p95'] as const;

type Count = (typeof SERIES_COUNTS)[number];
type Percentile = (typeof SERIES_TIMES)[number];

/** The numbers of one job type. */
export interface Series {
  readonly jobType: string;
  /** The numbers of the whole interval. */
  readonly totals: Readonly<Record<Count, number> & Record<Percentile, number | null>>;
  /** The numbers of each point, in the order of `times`. */
  readonly points: Readonly<Record<Count, readonly number[]> & Record<Percentile, readonly (number | null)[]>>;
}

export interface ReadSeries {
  /** Time of the database's clock. */
  readonly asOf: Date;
  readonly step: SeriesStep;
  /** The start of each point, oldest first. */
  readonly times: readonly Date[];
  readonly series: readonly Series[];
}

export interface SeriesWish {
  /** A time, or how long ago. Default: an hour. */
  readonly since?: Date | Duration | undefined;
  /** A time, or how long ago. Default: now. */
  readonly until?: Date | Duration | undefined;
  readonly step?: SeriesStep | undefined;
  /** One series for each of these. Default: the series of all job types. */
  readonly jobTypes?: readonly string[] | undefined;
  /** Whether to add a series for each job type; ignored with `jobTypes`. */
  readonly byJobType?: boolean | undefined;
}

// Each point is one probe of the primary key, so the cost depends neither on the rows of other job types nor on
// statistics. Parameters: step, job types, times.
const READ_SERIES = `
  with points as materialized (
    select w.job_type, w.place, t.at, n.*
      from unnest($2::text[]) with ordinality as w(job_type, place)
      cross join unnest($3::timestamptz[]) as t(at)
      left join lateral (
        select s.enqueued, s.succeeded, s.failed, s.retried, s.dead_lettered, s.manual_retry, s.skipped, s.cancelled,
               s.wait_p50, s.wait_p95, s.run_p50, s.run_p95, s.wait_counts, s.run_counts
          from millrace.job_series s where s.step = $1 and s.at = t.at and s.job_type = w.job_type limit 1) n on true
  ), buckets as (
    select p.job_type, v.measure, u.bucket, sum(u.count)::bigint as count
      from points p, lateral (values ('wait', p.wait_counts), ('run', p.run_counts)) as v(measure, counts),
           unnest(v.counts) with ordinality as u(count, bucket)
      group by p.job_type, v.measure, u.bucket
  ), histograms as (
    select job_type, array_agg(count order by bucket) filter (where measure = 'wait') as waits,
           array_agg(count order by bucket) filter (where measure = 'run') as runs
      from buckets group by job_type
  ), series as (
    select job_type, place, array_agg(coalesce(enqueued, 0)::float8 order by at) as enqueued,
           array_agg(coalesce(succeeded, 0)::float8 order by at) as succeeded,
           array_agg(coalesce(failed, 0)::float8 order by at) as failed,
           array_agg(coalesce(retried, 0)::float8 order by at) as retried,
           array_agg(coalesce(dead_lettered, 0)::float8 order by at) as dead_lettered,
           array_agg(coalesce(manual_retry, 0)::float8 order by at) as manual_retry,
           array_agg(coalesce(skipped, 0)::float8 order by at) as skipped,
           array_agg(coalesce(cancelled, 0)::float8 order by at) as cancelled,
           array_agg(wait_p50 order by at) as wait_p50, array_agg(wait_p95 order by at) as wait_p95,
           array_agg(run_p50 order by at) as run_p50, array_agg(run_p95 order by at) as run_p95
      from points group by job_type, place
  )
  select s.job_type as "jobType", to_jsonb(s) as points,
         jsonb_build_object('wait_p50', millrace.timing_quantile(h.waits, 0.5),
           'wait_p95', millrace.timing_quantile(h.waits, 0.95), 'run_p50', millrace.timing_quantile(h.runs, 0.5),
           'run_p95', millrace.timing_quantile(h.runs, 0.95)) as totals
    from series s left join histograms h on h.job_type = s.job_type order by s.place`;

const READ_TYPES = `
  select job_type as "jobType", bool_or(deployed) as deployed from (
      select job_type, true as deployed from millrace.handlers
      union all select job_type, false from millrace.removed_handlers) t
    group by job_type order by job_type`;

interface KnownType {
  readonly jobType: string;
  /** Whether it has a handler; otherwise it had one. */
  readonly deployed: boolean;
}

/** Returns numbers over time as the dispatcher last added them up, with zeros where nothing happened. */
export async function readSeries(db: Queryable, wish: SeriesWish): Promise<ReadSeries | SeriesFault> {
  const [asOf, since, until] = [
    await pinTime(db, 0),
    await pinTime(db, wish.since ?? DEFAULT_SINCE),
    await pinTime(db, wish.until),
  ];
  if (asOf === undefined || since === undefined) throw new Error('the clock of the database returned no time');
  const range = chooseRange(asOf, { since, until, step: wish.step });
  if ('fault' in range) return range;
  const { rows: known } = await db.query<KnownType>(READ_TYPES);
  const names = namesOf(wish, known);
  const fault = faultOf(wish, known) ?? tooMany(names.length, range.times.length);
  if (fault !== undefined) return fault;
  const { rows } = await db.query<Read>(READ_SERIES, [range.step, names, range.times]);
  const shown = new Set([ALL_TYPES, ...(wish.jobTypes ?? []), ...known.filter((one) => one.deployed).map(nameOf)]);
  const series = rows.map(toSeries).filter((one) => shown.has(one.jobType) || hasEvents(one));
  return { asOf, ...range, series };
}

function namesOf({ jobTypes = [], byJobType = false }: SeriesWish, known: readonly KnownType[]): readonly string[] {
  if (jobTypes.length > 0) return [...new Set(jobTypes)];
  return byJobType ? [ALL_TYPES, ...known.map(nameOf), OTHERS] : [ALL_TYPES];
}

function nameOf({ jobType }: KnownType): string {
  return jobType;
}

function faultOf({ jobTypes = [] }: SeriesWish, known: readonly KnownType[]): SeriesFault | undefined {
  const names = known.map(nameOf);
  const unknown = jobTypes.find((jobType) => !names.includes(jobType));
  if (unknown === undefined) return undefined;
  const fault = `job_type: no handler of ${unknown} is or was deployed${suggestName(unknown, names)}`;
  return { parameter: 'job_type', fault };
}

function tooMany(series: number, times: number): SeriesFault | undefined {
  if (series * times <= MOST_POINTS) return undefined;
  const had = `${series} series with ${times} points each have more than ${MOST_POINTS} points`;
  return { parameter: 'since', fault: `since: ${had}: use a later time, the step hour, or fewer job types` };
}

interface Read {
  readonly jobType: string;
  readonly points: Series['points'];
  readonly totals: Record<Percentile, number | null>;
}

function toSeries({ jobType, points, totals }: Read): Series {
  const sum = (name: Count) => [name, points[name].reduce((all, one) => all + one, 0)];
  const counts = Object.fromEntries(SERIES_COUNTS.map(sum)) as Record<Count, number>;
  return { jobType, totals: { ...counts, ...totals }, points: pick(points) };
}

/** Returns the numbers of a row without its other columns, in their order. */
function pick(points: Series['points']): Series['points'] {
  const names = [...SERIES_COUNTS, ...SERIES_TIMES];
  return Object.fromEntries(names.map((name) => [name, points[name]])) as unknown as Series['points'];
}

function hasEvents({ totals }: Series): boolean {
  return SERIES_COUNTS.some((name) => totals[name] > 0) || totals.run_p50 !== null;
}
