import type { LatencyRow, Result, RunRow } from '../result.ts';
import { type Chart, drawChart, formatNumber, type Series } from './chart.ts';

/** Returns the SVG documents of the questions that the result answers, by file name. */
export function drawPlots(result: Result): Map<string, string> {
  const charts: [name: string, chart: Chart | undefined][] = [
    ['throughput', result.throughput && throughputChart(result.throughput)],
    ['singles', result.singles && singlesChart(result.singles)],
    ['latency', result.latency && latencyChart(result.latency)],
    [
      'failing',
      result.failing &&
        variantChart('Claim to finished, jobs/s, by share of jobs that fail once', result.failing, shareOf),
    ],
    ['payloads', result.payloads && payloadChart(result.payloads)],
  ];
  return new Map(charts.flatMap(([name, chart]) => (chart ? [[`${name}.svg`, drawChart(chart)] as const] : [])));
}

/** Of each system, the number of lanes with which it is fastest. */
function throughputChart(rows: readonly RunRow[]): Chart {
  const batches = [...new Set(rows.filter(({ system }) => system === 'millrace').map(({ batch }) => batch))];
  const series = [...new Set(rows.map(({ system }) => system))].map((system) => ({
    name: system === 'graphile-worker' ? `${system}, batched, in each group` : system,
    values: batches.map((batch) => {
      // graphile-worker has one size of batches.
      const own = rows.filter((row) => row.system === system && row.batch !== undefined);
      const same = system === 'graphile-worker' ? own : own.filter((row) => row.batch === batch);
      return same.length === 0 ? undefined : Math.max(...same.map(drainRate));
    }),
  }));
  const groups = batches.map((batch) => `batch ${batch}`);
  return { title: 'Claim to finished, jobs/s', groups, series, scale: 'linear' };
}

function singlesChart(rows: NonNullable<Result['singles']>): Chart {
  const connections = [...new Set(rows.map((row) => row.connections))];
  const groups = connections.map((count) => `${count} connection${count === 1 ? '' : 's'}`);
  const series = [...Map.groupBy(rows, ({ system }) => system)].map(([name, own]) => ({
    name,
    values: connections.map((count) => {
      const row = own.find((one) => one.connections === count);
      return row && row.jobs / row.cost.seconds;
    }),
  }));
  return { title: 'Single inserts, jobs/s', groups, series, scale: 'linear' };
}

function latencyChart(rows: readonly LatencyRow[]): Chart {
  const rates = [...new Set(rows.map(({ rate }) => rate))];
  const series: Series[] = [...Map.groupBy(rows, ({ name }) => name)].map(([name, own]) => {
    const at = (rate: number) => own.find((row) => row.rate === rate);
    return { name, values: rates.map((rate) => at(rate)?.p50), upTo: rates.map((rate) => at(rate)?.p99) };
  });
  const groups = rates.map((rate) => `${formatNumber(rate)} a second`);
  return { title: 'Enqueue to start, ms: bars p50, lines up to p99, logarithmic', groups, series, scale: 'log' };
}

function payloadChart(rows: NonNullable<Result['payloads']>): Chart {
  const chart = variantChart('Claim to finished, jobs/s, by size of the payload, logarithmic', rows, ({ bytes }) =>
    sizeOf(bytes),
  );
  return { ...chart, scale: 'log' };
}

function variantChart<Row extends RunRow>(title: string, rows: readonly Row[], groupOf: (row: Row) => string): Chart {
  const groups = [...new Set(rows.map(groupOf))];
  const series = [...Map.groupBy(rows, ({ system }) => system)].map(([name, own]) => ({
    name,
    values: groups.map((group) => own.filter((row) => groupOf(row) === group).map(drainRate)[0]),
  }));
  return { title, groups, series, scale: 'linear' };
}

function drainRate({ jobs, drain }: RunRow): number {
  return jobs / drain.seconds;
}

function shareOf({ share }: { readonly share: number }): string {
  return `${Math.round(share * 100)} %`;
}

/** Formats a size, such as `10 kB`. */
export function sizeOf(bytes: number): string {
  return bytes < 1000 ? `${bytes} B` : `${bytes / 1000} kB`;
}
