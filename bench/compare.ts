import { barsOfThroughput, formatBars } from './bars.ts';
import type { Contender } from './contenders/contender.ts';
import { floor } from './contenders/floor.ts';
import { graphileWorkers } from './contenders/graphile-worker.ts';
import { millrace } from './contenders/millrace.ts';
import { pgBoss } from './contenders/pg-boss.ts';
import { measureJobs, medianRun, type Sample, type World } from './measures/measure-jobs.ts';
import { median, sum } from './measures/meter.ts';
import { costTable, table } from './measures/report.ts';
import type { CompareOptions } from './options.ts';
import { PHASES, type PhaseCosts, runPhases } from './phases.ts';
import type { PhaseRow, RunRow } from './result.ts';

const LANES = [4, 8];
/** Connections that start and settle jobs in the measurement of phases. */
const HANDLERS = 4;

function contendersOf({ batches, peers }: CompareOptions): Contender[] {
  const forEach = (of: (batch: number, lanes: number) => Contender) =>
    batches.flatMap((batch) => LANES.map((lanes) => of(batch, lanes)));
  const ours = forEach(millrace);
  return peers ? [...ours, ...forEach(pgBoss), ...forEach(floor), ...graphileWorkers] : ours;
}

/** Measures the contenders alternately on the same server, so that a slow minute of the machine affects all of them. */
export async function compare(world: World, options: CompareOptions): Promise<RunRow[]> {
  const { jobs, runs, pinned } = options;
  const samples = new Map<Contender, Sample[]>(contendersOf(options).map((contender) => [contender, []]));
  for (let run = 0; run < runs; run++) {
    for (const [contender, list] of samples) list.push(await measureJobs(world, contender, { jobs, pinned }));
  }
  const rows = [...samples].map(([contender, list]) => medianRun(contender, jobs, list));
  world.print(report(rows, options));
  return rows;
}

function report(rows: readonly RunRow[], { batches }: CompareOptions): string {
  const parts = [
    table('claim to finished', rows, ({ drain }) => drain),
    table('enqueue', rows, ({ enqueue }) => enqueue),
    table('enqueue to finished', rows, ({ enqueue, drain }) => sum([enqueue, drain])),
    formatBars(barsOfThroughput(rows, batches)),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Measures the statements of the engine phase by phase, at each size of a batch. */
export async function comparePhases(world: World, { jobs, runs, batches }: CompareOptions): Promise<PhaseRow[]> {
  const costs = new Map<number, PhaseCosts[]>(batches.map((batch) => [batch, []]));
  for (let run = 0; run < runs; run++) {
    for (const [batch, list] of costs) {
      const work = (url: string) => runPhases(url, world.meter, { jobs, batch, handlers: HANDLERS });
      list.push(await world.server.onFreshDatabase(work));
    }
  }
  return [...costs].flatMap(([batch, list]) => {
    const rows = PHASES.map((phase) => ({ batch, phase, jobs, cost: median(list.map((all) => all[phase])) }));
    const title = `phase by phase, batch ${batch}, ${HANDLERS} at once`;
    world.print(
      costTable(
        title,
        rows.map(({ phase, cost }) => [phase, cost] as const),
        jobs,
      ),
    );
    return rows;
  });
}
