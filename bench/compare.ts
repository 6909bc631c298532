import { cpus } from 'node:os';
import { bars } from './bars.ts';
import type { Contender } from './contenders/contender.ts';
import { floor } from './contenders/floor.ts';
import { graphileWorkers } from './contenders/graphile-worker.ts';
import { millrace } from './contenders/millrace.ts';
import { pgBoss } from './contenders/pg-boss.ts';
import { type Cost, type Meter, median, middle, openMeter, sum } from './measures/meter.ts';
import { type Measured, phaseTable, table } from './measures/report.ts';
import { type BenchServer, SETTINGS, startServer } from './measures/server.ts';
import { type PhaseCosts, runPhases } from './phases.ts';
import { compareSingles } from './singles.ts';

export interface CompareOptions {
  readonly jobs: number;
  /** How many runs the medians are taken from. */
  readonly runs: number;
  /** Jobs that one statement takes. */
  readonly batches: readonly number[];
  /** Whether to measure the other systems too. */
  readonly peers: boolean;
  /** Whether another transaction stays open during the run, so that vacuum cannot remove anything. */
  readonly pinned: boolean;
  readonly print: (text: string) => void;
}

interface Sample {
  readonly enqueue: Cost;
  readonly drain: Cost;
  readonly deadTuples: number;
}

interface World {
  readonly server: BenchServer;
  readonly meter: Meter;
}

const LANES = [4, 8];

function contendersOf({ batches, peers }: CompareOptions): Contender[] {
  const forEach = (of: (batch: number, lanes: number) => Contender) =>
    batches.flatMap((batch) => LANES.map((lanes) => of(batch, lanes)));
  const ours = forEach(millrace);
  return peers ? [...ours, ...forEach(pgBoss), ...forEach(floor), ...graphileWorkers] : ours;
}

/** Measures the contenders alternately on the same server, so that a slow minute of the machine affects all of them. */
export async function compare(options: CompareOptions): Promise<void> {
  const { print, jobs, runs, batches } = options;
  const server = await startServer();
  try {
    const meter = await openMeter(server);
    print(describe(options, server));
    const samples = new Map<Contender, Sample[]>(contendersOf(options).map((contender) => [contender, []]));
    const phases = new Map<number, PhaseCosts[]>(batches.map((batch) => [batch, []]));
    for (let run = 0; run < runs; run++) {
      for (const [contender, list] of samples) list.push(await measure({ server, meter }, options, contender));
      for (const [batch, list] of phases) {
        const work = (url: string) => runPhases(url, meter, { jobs, batch, handlers: 4 });
        list.push(await server.onFreshDatabase(work));
      }
    }
    print(report(samples, options));
    for (const [batch, costs] of phases) print(phaseTable(batch, costs, jobs));
    if (options.peers) await compareSingles(server, meter, { runs, print, jobs: Math.ceil(jobs / 5) });
    await meter.close();
  } finally {
    await server.stop();
  }
}

function describe({ jobs, runs, pinned }: CompareOptions, { version }: BenchServer): string {
  const settings = Object.entries(SETTINGS).map(([name, value]) => `${name}=${value}`);
  const machine = `${cpus().length} x ${cpus()[0]?.model}; Node ${process.version}`;
  return [
    `${jobs} jobs${pinned ? ', with an open transaction' : ''}, median of ${runs}; ${machine}`,
    `Postgres ${version}, fsync and synchronous_commit on, ${settings.join(', ')}, otherwise its defaults\n`,
  ].join('\n');
}

async function measure(
  { server, meter }: World,
  { jobs, pinned }: CompareOptions,
  contender: Contender,
): Promise<Sample> {
  return server.onFreshDatabase(async (url) => {
    const system = await contender.open(url);
    const release = pinned ? await server.pinSnapshot(url) : undefined;
    let costs: Omit<Sample, 'deadTuples'>;
    try {
      const enqueue = await meter.measure(() => system.enqueue(jobs));
      const drain = await meter.measure(() => system.drain(jobs));
      await system.check(jobs);
      costs = { enqueue, drain };
    } finally {
      await release?.();
      await system.close();
    }
    return { ...costs, deadTuples: await server.countDeadTuples(url) };
  });
}

function report(samples: ReadonlyMap<Contender, readonly Sample[]>, { jobs, batches }: CompareOptions): string {
  const measured = (of: (sample: Sample) => Cost): Measured[] =>
    [...samples].map(([contender, list]) => {
      const dead = middle(list.map(({ deadTuples }) => deadTuples));
      return { contender, cost: median(list.map(of)), deadTuples: dead };
    });
  const drain = measured((sample) => sample.drain);
  const parts = [
    table('claim to finished', drain, jobs),
    table(
      'enqueue',
      measured(({ enqueue }) => enqueue),
      jobs,
    ),
    table(
      'enqueue to finished',
      measured((sample) => sum([sample.enqueue, sample.drain])),
      jobs,
    ),
    bars(drain, batches),
  ];
  return `${parts.join('\n\n')}\n`;
}
