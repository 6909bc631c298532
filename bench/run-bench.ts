import { cpus } from 'node:os';
import type { Contender } from './contender.ts';
import { graphileWorker } from './graphile-worker.ts';
import { type Cost, type Meter, median, openMeter, sum } from './meter.ts';
import { millrace } from './millrace.ts';
import { pgBoss } from './pg-boss.ts';
import { PHASES, type PhaseCosts, runPhases } from './phases.ts';
import { ratios, table } from './report.ts';
import { type BenchServer, SETTINGS, startServer } from './server.ts';

export interface BenchOptions {
  readonly jobs: number;
  /** Medians are taken over so many. */
  readonly runs: number;
  /** Also measure graphile-worker and pg-boss. */
  readonly peers: boolean;
  /** Somebody's transaction stays open from before the first job to after the last: vacuum can remove nothing. */
  readonly pinned: boolean;
  readonly print: (text: string) => void;
}

interface Sample {
  readonly enqueue: Cost;
  readonly drain: Cost;
}

const HANDLERS = [4, 8];
const DATABASE = 'millrace_bench';

/** Measures the engine, and the peers on the same server in turns, so that a slow minute of the machine hits all. */
export async function runBench(options: BenchOptions): Promise<void> {
  const { print, jobs, runs } = options;
  const server = await startServer();
  try {
    const meter = await openMeter(server);
    const settings = Object.entries(SETTINGS).map(([name, value]) => `${name}=${value}`);
    print(
      `${jobs} jobs${options.pinned ? ', a transaction open all the time' : ''}, median of ${runs}; ${cpus().length} x ${cpus()[0]?.model}; Node ${process.version}`,
    );
    print(
      `Postgres ${server.version}, fsync and synchronous_commit on, ${settings.join(', ')}, otherwise its defaults\n`,
    );
    const ours = HANDLERS.map(millrace);
    const peers = options.peers ? [graphileWorker, ...HANDLERS.map(pgBoss)] : [];
    const samples = new Map<Contender, Sample[]>([...ours, ...peers].map((one) => [one, []]));
    const phases: PhaseCosts[] = [];
    for (let run = 0; run < runs; run++) {
      for (const [contender, list] of samples) list.push(await measure({ ...options, server, meter }, contender));
      phases.push(await onFreshDatabase(server, (url) => runPhases(url, meter, { jobs, handlers: 4 })));
    }
    await meter.close();
    print(summary(samples, { ours, peers, jobs }));
    const rows = PHASES.map((phase) => [phase, median(phases.map((costs) => costs[phase]))] as const);
    print(table('one phase after the other (4 handlers)', rows, jobs));
  } finally {
    await server.stop();
  }
}

async function measure(
  { server, meter, jobs, pinned }: Pick<BenchOptions, 'jobs' | 'pinned'> & { server: BenchServer; meter: Meter },
  contender: Contender,
): Promise<Sample> {
  return onFreshDatabase(server, async (url) => {
    const engine = await contender.open(url);
    const release = pinned ? await server.pinSnapshot(url) : undefined;
    try {
      const enqueue = await meter.measure(() => engine.enqueue(jobs));
      const drain = await meter.measure(() => engine.drain(jobs));
      await engine.check(jobs);
      return { enqueue, drain };
    } finally {
      await release?.();
      await engine.close();
    }
  });
}

async function onFreshDatabase<T>(server: BenchServer, work: (url: string) => Promise<T>): Promise<T> {
  const url = await server.createDatabase(DATABASE);
  try {
    return await work(url);
  } finally {
    await server.dropDatabase(DATABASE);
  }
}

interface Field {
  readonly ours: readonly Contender[];
  readonly peers: readonly Contender[];
  readonly jobs: number;
}

function summary(samples: ReadonlyMap<Contender, readonly Sample[]>, { ours, peers, jobs }: Field): string {
  const costs = (contender: Contender, of: (sample: Sample) => Cost) => median((samples.get(contender) ?? []).map(of));
  const rows = (of: (sample: Sample) => Cost) => [...samples.keys()].map((one) => [one.name, costs(one, of)] as const);
  const drain = ({ drain }: Sample) => drain;
  const whole = (sample: Sample) => sum([sample.enqueue, sample.drain]);
  const compared = (of: (sample: Sample) => Cost) =>
    ours.flatMap((one) =>
      peers.map(
        (peer) => [`${one.name.slice(-11)} : ${peer.name}`.slice(0, 36), costs(one, of), costs(peer, of)] as const,
      ),
    );
  const parts = [
    table('claim to finished', rows(drain), jobs),
    table(
      'enqueue',
      rows(({ enqueue }) => enqueue),
      jobs,
    ),
    table('enqueue to finished', rows(whole), jobs),
  ];
  if (peers.length > 0) parts.push(ratios('ratios, claim to finished', compared(drain)));
  if (peers.length > 0) parts.push(ratios('ratios, enqueue to finished', compared(whole)));
  return `${parts.join('\n\n')}\n`;
}
