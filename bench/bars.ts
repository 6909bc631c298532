import type { Contender } from './contenders/contender.ts';
import type { Cost } from './measures/meter.ts';
import { line, type Measured } from './measures/report.ts';

/** What Millrace must reach in a run, as multiples of what pg-boss needs with the same batch. */
const BARS = {
  10: { speed: 2.5, cpu: 0.3, wal: 0.8 },
  100: { speed: 1.5, cpu: 0.5, wal: 0.8 },
  500: { speed: 1.15, cpu: 0.75, wal: 0.8 },
} as const;

/** graphile-worker takes batches of 500, and is compared from this size on. */
const LEAST_OF_GRAPHILE = 100;

type System = Contender['system'];

/** Compares Millrace with the others in the same run, each with the number of lanes with which it is fastest. */
export function bars(measured: readonly Measured[], batches: readonly number[]): string {
  const best = (system: System, batch?: number) =>
    measured
      .filter(({ contender }) => contender.system === system && (batch === undefined || contender.batch === batch))
      .map(({ cost }) => cost)
      .toSorted((a, b) => a.seconds - b.seconds)[0];
  const lines = batches.flatMap((batch) => {
    const [ours, theirs, graphile] = [best('millrace', batch), best('pg-boss', batch), best('graphile-worker')];
    const bar = BARS[batch as keyof typeof BARS];
    if (!ours || !theirs || !graphile || !bar) return [];
    return [
      ...compareWithPgBoss(batch, ratios(ours, theirs), bar),
      ...(batch < LEAST_OF_GRAPHILE
        ? []
        : [row(`batch ${batch}: jobs/s, graphile-worker`, ratios(ours, graphile).speed, 'above', 1)]),
    ];
  });
  return [line('ours : theirs, fastest lanes', ['measured', 'bar', '']), ...lines].join('\n');
}

function ratios(ours: Cost, theirs: Cost) {
  return {
    speed: theirs.seconds / ours.seconds,
    cpu: ours.cpuMs / theirs.cpuMs,
    wal: ours.walBytes / theirs.walBytes,
  };
}

type Ratios = ReturnType<typeof ratios>;

function compareWithPgBoss(batch: number, measured: Ratios, bar: Ratios): string[] {
  return [
    row(`batch ${batch}: jobs/s, pg-boss`, measured.speed, 'above', bar.speed),
    row(`batch ${batch}: processor time of Postgres, pg-boss`, measured.cpu, 'below', bar.cpu),
    row(`batch ${batch}: WAL, pg-boss`, measured.wal, 'below', bar.wal),
  ];
}

function row(label: string, measured: number, side: 'above' | 'below', bar: number): string {
  const isMet = side === 'above' ? measured >= bar : measured <= bar;
  const sign = side === 'above' ? '>=' : '<=';
  return line(label, [measured.toFixed(2), `${sign} ${bar}`, isMet ? 'met' : 'MISSED']);
}
