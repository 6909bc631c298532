import type { Cost } from './measures/meter.ts';
import { line } from './measures/report.ts';
import type { Answers, LatencyRow, RunRow, SingleRow } from './result.ts';

/** What Millrace must reach in a run, as multiples of what pg-boss needs with the same batch. */
const BARS = {
  10: { speed: 2.5, cpu: 0.3, wal: 0.8 },
  100: { speed: 1.5, cpu: 0.5, wal: 0.8 },
  500: { speed: 1.15, cpu: 0.75, wal: 0.8 },
} as const;

/** graphile-worker takes batches of 500, and is compared from this size on. */
const LEAST_OF_GRAPHILE = 100;

/** Connections with which single inserts are compared. */
const CONNECTIONS = 32;
/** Half of the dispatcher's default interval is the mean wait, to which this is added. */
const P50_MS = 500 + 100;
/** Two of its intervals. */
const P99_MS = 2000;
/** The rates at which the default handler keeps up on two cores. */
const RATES = [1, 100];
const REQUESTS_PER_JOB = 0.32;

/** A bar, and what was measured; undefined if nothing was. */
export interface Bar {
  readonly label: string;
  readonly measured: number | undefined;
  readonly sign: '>=' | '<=';
  readonly bar: number;
}

type System = RunRow['system'];

/** Returns all bars of a result. */
export function barsOf({ throughput = [], singles = [], latency = [], stack }: Answers): Bar[] {
  return [
    ...barsOfThroughput(throughput, Object.keys(BARS).map(Number)),
    ...barsOfSingles(singles),
    ...['auto', 'loop'].flatMap((mode) => RATES.flatMap((rate) => barsOfLatency(latency, mode, rate))),
    {
      label: 'local stack, batches of 10: SQS requests a job',
      measured: stack?.drains.find(({ handler }) => handler === 'no_op')?.requestsPerJob,
      ...{ sign: '<=', bar: REQUESTS_PER_JOB },
    },
  ];
}

/** Compares Millrace with the others in the same run, each with the number of lanes with which it is fastest. */
export function barsOfThroughput(rows: readonly RunRow[], batches: readonly number[]): Bar[] {
  const best = (system: System, batch?: number) =>
    rows
      .filter((row) => row.system === system && (batch === undefined || row.batch === batch))
      .map(({ drain }) => drain)
      .toSorted((a, b) => a.seconds - b.seconds)[0];
  return batches.flatMap((batch) => {
    const bar = BARS[batch as keyof typeof BARS];
    if (bar === undefined) return [];
    const ours = best('millrace', batch);
    const [boss, graphile] = [ratios(ours, best('pg-boss', batch)), ratios(ours, best('graphile-worker'))];
    const of = `batch ${batch}:`;
    return [
      { label: `${of} jobs/s, pg-boss`, measured: boss?.speed, sign: '>=', bar: bar.speed },
      { label: `${of} processor time of Postgres, pg-boss`, measured: boss?.cpu, sign: '<=', bar: bar.cpu },
      { label: `${of} WAL, pg-boss`, measured: boss?.wal, sign: '<=', bar: bar.wal },
      ...(batch < LEAST_OF_GRAPHILE
        ? []
        : [{ label: `${of} jobs/s, graphile-worker`, measured: graphile?.speed, sign: '>=', bar: 1 } as const]),
    ] satisfies Bar[];
  });
}

/** Compares the single inserts of Millrace with those of each peer in the same run. */
export function barsOfSingles(rows: readonly SingleRow[]): Bar[] {
  const of = (system: System) => rows.find((row) => row.system === system && row.connections === CONNECTIONS)?.cost;
  return (['pg-boss', 'graphile-worker'] as const).map((system) => ({
    label: `inserts, ${CONNECTIONS} at once: jobs/s, ${system}`,
    measured: ratios(of('millrace'), of(system))?.speed,
    ...{ sign: '>=', bar: 1 },
  }));
}

function barsOfLatency(rows: readonly LatencyRow[], mode: string, rate: number): Bar[] {
  const row = rows.find((one) => one.name === `millrace, stack, ${mode}` && one.rate === rate);
  const label = `local stack, ${mode}, ${rate}/s: ms to start`;
  return [
    { label: `${label}, p50`, measured: row?.p50, sign: '<=', bar: P50_MS },
    { label: `${label}, p99`, measured: row?.p99, sign: '<=', bar: P99_MS },
  ];
}

export function isMet({ measured, sign, bar }: Bar): boolean {
  return measured !== undefined && (sign === '>=' ? measured >= bar : measured <= bar);
}

/** Formats the bars that were measured for the terminal. */
export function formatBars(bars: readonly Bar[]): string {
  const lines = bars.flatMap((one) => {
    const { label, measured, sign, bar } = one;
    if (measured === undefined) return [];
    return [line(label, [measured.toFixed(2), `${sign} ${bar}`, isMet(one) ? 'met' : 'MISSED'])];
  });
  return lines.length === 0 ? '' : [line('ours : theirs, fastest lanes', ['measured', 'bar', '']), ...lines].join('\n');
}

function ratios(ours: Cost | undefined, theirs: Cost | undefined) {
  if (!ours || !theirs) return undefined;
  return {
    speed: theirs.seconds / ours.seconds,
    cpu: ours.cpuMs / theirs.cpuMs,
    wal: ours.walBytes / theirs.walBytes,
  };
}
