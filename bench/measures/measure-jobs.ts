import type { Contender } from '../contenders/contender.ts';
import { NO_OP, type Work } from '../contenders/work.ts';
import type { RunRow } from '../result.ts';
import { type Cost, type Meter, median, middle, openMeter, sum } from './meter.ts';
import { type BenchServer, startServer } from './server.ts';

/** What the measurements of one run share. */
export interface World {
  readonly server: BenchServer;
  readonly meter: Meter;
  readonly print: (text: string) => void;
}

/** Starts a server and its meter, and stops them after `work`. */
export async function onWorld(print: World['print'], work: (world: World) => Promise<void>): Promise<void> {
  const server = await startServer();
  try {
    const meter = await openMeter(server);
    await work({ server, meter, print });
    await meter.close();
  } finally {
    await server.stop();
  }
}

/** What all jobs of one contender cost in one run. */
export interface Sample {
  readonly enqueue: Cost;
  readonly drain: Cost;
  readonly deadTuples: number;
}

export interface JobsOptions {
  readonly jobs: number;
  readonly work?: Work;
  /** Whether another transaction stays open. */
  readonly pinned?: boolean;
}

/** Enqueues all jobs of a contender in a fresh database, then runs them. */
export async function measureJobs(
  { server, meter }: World,
  contender: Contender,
  { jobs, work = NO_OP, pinned = false }: JobsOptions,
): Promise<Sample> {
  return server.onFreshDatabase(async (url) => {
    const system = await contender.open(url, work);
    const release = pinned ? await server.pinSnapshot(url) : undefined;
    let costs: Omit<Sample, 'deadTuples'>;
    try {
      const enqueue = await meter.measure(() => system.enqueue(jobs));
      const drains = [await meter.measure(() => system.drain(jobs))];
      const { retries } = system;
      if (retries && work.failing > 0) {
        await retries.makeDue();
        drains.push(await meter.measure(() => retries.drain(jobs)));
      }
      await system.check(jobs);
      costs = { enqueue, drain: sum(drains) };
    } finally {
      await release?.();
      await system.close();
    }
    return { ...costs, deadTuples: await server.countDeadTuples(url) };
  });
}

/** Returns the medians of several runs. */
export function medianRun({ system, batch, lanes }: Contender, jobs: number, samples: readonly Sample[]): RunRow {
  return {
    ...{ system, batch, lanes, jobs },
    enqueue: median(samples.map(({ enqueue }) => enqueue)),
    drain: median(samples.map(({ drain }) => drain)),
    deadTuples: middle(samples.map(({ deadTuples }) => deadTuples)),
  };
}
