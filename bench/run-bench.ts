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
  /** How many runs the medians are taken from. */
  readonly runs: number;
  /** Whether to measure graphile-worker and pg-boss too. */
  readonly peers: boolean;
  /** Whether another transaction stays open during the run, so that vacuum cannot remove anything. */
  readonly pinned: boolean;
  readonly print: (text: string) => void;
}

interface Sample {
  readonly enqueue: Cost;
  readonly drain: Cost;
}

const HANDLERS = [4, 8];
const CONTENDERS: readonly Contender[] = [...HANDLERS.map(millrace), graphileWorker, ...HANDLERS.map(pgBoss)];
const DATABASE = 'millrace_bench';

/** Measures the contenders alternately on the same server, so that a slow minute of the machine affects all of them. */
export async function runBench(options: BenchOptions): Promise<void> {
  const { print, jobs, runs } = options;
  const server = await startServer();
  try {
    const meter = await openMeter(server);
    const settings = Object.entries(SETTINGS).map(([name, value]) => `${name}=${value}`);
    const machine = `${cpus().length} x ${cpus()[0]?.model}; Node ${process.version}`;
    print(`${jobs} jobs${options.pinned ? ', with an open transaction' : ''}, median of ${runs}; ${machine}`);
    print(
      `Postgres ${server.version}, fsync and synchronous_commit on, ${settings.join(', ')}, otherwise its defaults\n`,
    );
    const contenders = CONTENDERS.filter(({ peer }) => options.peers || !peer);
    const samples = new Map<Contender, Sample[]>(contenders.map((contender) => [contender, []]));
    const phases: PhaseCosts[] = [];
    for (let run = 0; run < runs; run++) {
      for (const [contender, list] of samples) list.push(await measure({ ...options, server, meter }, contender));
      phases.push(await onFreshDatabase(server, (url) => runPhases(url, meter, { jobs, handlers: 4 })));
    }
    await meter.close();
    print(summary(samples, jobs));
    const rows = PHASES.map((phase) => [phase, median(phases.map((costs) => costs[phase]))] as const);
    print(table('phase by phase (4 handlers)', rows, jobs));
  } finally {
    await server.stop();
  }
}

async function measure(
  { server, meter, jobs, pinned }: Pick<BenchOptions, 'jobs' | 'pinned'> & { server: BenchServer; meter: Meter },
  contender: Contender,
): Promise<Sample> {
  return onFreshDatabase(server, async (url) => {
    const system = await contender.open(url);
    const release = pinned ? await server.pinSnapshot(url) : undefined;
    try {
      const enqueue = await meter.measure(() => system.enqueue(jobs));
      const drain = await meter.measure(() => system.drain(jobs));
      await system.check(jobs);
      return { enqueue, drain };
    } finally {
      await release?.();
      await system.close();
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

function summary(samples: ReadonlyMap<Contender, readonly Sample[]>, jobs: number): string {
  const costs = (contender: Contender, of: (sample: Sample) => Cost) => median((samples.get(contender) ?? []).map(of));
  const rows = (of: (sample: Sample) => Cost) => [...samples.keys()].map((one) => [one.name, costs(one, of)] as const);
  const drain = ({ drain }: Sample) => drain;
  const whole = (sample: Sample) => sum([sample.enqueue, sample.drain]);
  const contenders = [...samples.keys()];
  const pairs = contenders
    .filter(({ peer }) => !peer)
    .flatMap((ours) => contenders.filter(({ peer }) => peer).map((theirs) => [ours, theirs] as const));
  const compared = (of: (sample: Sample) => Cost) =>
    pairs.map(([ours, theirs]) => {
      return [`${ours.shortName} : ${theirs.shortName}`, costs(ours, of), costs(theirs, of)] as const;
    });
  const parts = [
    table('claim to finished', rows(drain), jobs),
    table(
      'enqueue',
      rows(({ enqueue }) => enqueue),
      jobs,
    ),
    table('enqueue to finished', rows(whole), jobs),
  ];
  if (pairs.length > 0) {
    parts.push(ratios('ratios, claim to finished', compared(drain)));
    parts.push(ratios('ratios, enqueue to finished', compared(whole)));
  }
  return `${parts.join('\n\n')}\n`;
}
