import type { Queryable } from '../postgres/database.ts';
import { PROMETHEUS_METRICS, type PrometheusName } from './metric-table.ts';
import { type MetricRows, readMetrics, type TimingRow } from './read-metrics.ts';
import { readStats, type Stats } from './stats.ts';

const SCHEDULE_STATES = ['active', 'paused', 'late', 'failed', 'no_handler'] as const;

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

/** Returns the metrics in Prometheus' text format 0.0.4. */
export async function renderMetrics(db: Queryable, build: { version: string; node: string }): Promise<string> {
  const rows = await readMetrics(db);
  const stats = await readStats(db);
  const plain: Partial<Record<PrometheusName, readonly Sample[]>> = {
    ...counters(rows),
    ...gauges(rows, stats),
    millrace_build_info: [[build, 1]],
  };
  const names = Object.keys(PROMETHEUS_METRICS) as PrometheusName[];
  return `${names.flatMap((name) => [...header(name), ...body(name, plain[name], rows)]).join('\n')}\n`;
}

function counters({ events, dispatcher, dispatches }: MetricRows): Partial<Record<PrometheusName, readonly Sample[]>> {
  const of = (measure: string, label: string) =>
    dispatches.filter((one) => one.measure === measure).map((one): Sample => [{ [label]: one.label }, one.value]);
  const manual = events.filter(({ event }) => event === 'manual_retry').map(({ value }) => value);
  return {
    millrace_job_events_total: events.map(({ value, ...labels }) => [labels, value]),
    millrace_dispatch_runs_total: [
      [{ result: 'ok' }, sum(dispatcher.buckets)],
      [{ result: 'failed' }, dispatcher.failed],
    ],
    millrace_dispatched_jobs_total: of('sent', 'queue'),
    millrace_dispatch_errors_total: of('error', 'reason'),
    millrace_redrive_jobs_total: [[{ result: 'redriven' }, sum(manual)]],
  };
}

function gauges(
  { handlers, dispatcher, schedules }: MetricRows,
  stats: Stats,
): Partial<Record<PrometheusName, readonly Sample[]>> {
  return {
    millrace_jobs: stats.jobs.map(({ status, jobType, count }) => [{ status, job_type: jobType }, count]),
    millrace_oldest_due_job_age_seconds: stats.oldestDue.map(({ jobType, seconds }) => [
      { job_type: jobType },
      seconds,
    ]),
    millrace_dispatcher_last_success_timestamp_seconds:
      dispatcher.lastRoundAt === null ? [] : [[{}, dispatcher.lastRoundAt]],
    millrace_dlq_messages: handlers.flatMap(({ queue, depth, dead }): Sample[] => [
      [{ queue, store: 'table' }, dead],
      [{ queue, store: 'sqs' }, depth],
    ]),
    millrace_schedules: SCHEDULE_STATES.map((state) => [
      { state },
      schedules.find((one) => one.state === state)?.count ?? 0,
    ]),
    millrace_handler_paused: handlers.map(({ handler, paused }) => [{ handler }, paused ? 1 : 0]),
  };
}

function body(name: PrometheusName, samples: readonly Sample[] | undefined, rows: MetricRows): string[] {
  if (samples !== undefined) return samples.map(([labels, value]) => line(name, labels, value));
  const { timings, dispatcher, bounds } = rows;
  if (name === 'millrace_dispatch_duration_seconds') {
    return histogram(name, {}, { counts: dispatcher.buckets, seconds: dispatcher.seconds, bounds });
  }
  const measure = name === 'millrace_job_wait_seconds' ? 'wait' : 'run';
  const series = Map.groupBy(
    timings.filter((timing) => timing.measure === measure),
    ({ jobType, outcome }) => `${jobType} ${outcome}`,
  );
  return [...series.values()].flatMap((of) => histogram(name, labelsOf(of), { ...addUp(of, bounds.length), bounds }));
}

function labelsOf([first]: readonly TimingRow[]): Labels {
  if (first === undefined) return {};
  return { job_type: first.jobType, ...(first.measure === 'run' && { outcome: first.outcome }) };
}

function addUp(series: readonly TimingRow[], last: number): { counts: number[]; seconds: number } {
  const counts = Array.from({ length: last + 1 }, () => 0);
  for (const { bucket, count } of series) counts[bucket] = count;
  return { counts, seconds: sum(series.map(({ seconds }) => seconds)) };
}

interface Buckets {
  readonly counts: readonly number[];
  readonly seconds: number;
  readonly bounds: readonly number[];
}

/** Returns the lines of a histogram, whose buckets are cumulative. */
function histogram(name: string, labels: Labels, { counts, seconds, bounds }: Buckets): string[] {
  let below = 0;
  const lines = counts.map((count, index) => {
    below += count;
    return line(`${name}_bucket`, { ...labels, le: String(bounds[index] ?? '+Inf') }, below);
  });
  return [...lines, line(`${name}_sum`, labels, seconds), line(`${name}_count`, labels, below)];
}

function header(name: PrometheusName): string[] {
  const { help, type } = PROMETHEUS_METRICS[name];
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
