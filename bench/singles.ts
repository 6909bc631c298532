import { barsOfSingles, formatBars } from './bars.ts';
import { type OpenProducers, PRODUCERS, type Producers } from './contenders/producers.ts';
import type { World } from './measures/measure-jobs.ts';
import { type Cost, median } from './measures/meter.ts';
import { costTable } from './measures/report.ts';
import type { CompareOptions } from './options.ts';
import type { SingleRow } from './result.ts';

const SYSTEMS = ['millrace', 'pg-boss', 'graphile-worker'] as const;
const CONNECTIONS = [1, 8, 32];
/** Share of the jobs that each case enqueues. */
const SHARE = 0.2;
/** Jobs that are not measured: connections open, and plans are cached. */
const WARM_UP = 500;

/** Measures single inserts, each in its own transaction, of all systems alternately. */
export async function compareSingles(world: World, { jobs, runs, peers }: CompareOptions): Promise<SingleRow[]> {
  const cases = CONNECTIONS.flatMap((connections) =>
    SYSTEMS.filter((system) => peers || system === 'millrace').map((system) => ({ system, connections })),
  );
  const costs = new Map<(typeof cases)[number], Cost[]>(cases.map((one) => [one, []]));
  const count = Math.ceil(jobs * SHARE);
  for (let run = 0; run < runs; run++) {
    for (const [{ system, connections }, list] of costs) {
      list.push(await measureSends(world, count, connections, PRODUCERS[system]));
    }
  }
  const rows = [...costs].map(([one, list]) => ({ ...one, jobs: count, cost: median(list) }));
  const named = rows.map(({ system, connections, cost }) => [`${system}, ${connections} connections`, cost] as const);
  world.print(costTable('enqueue one by one', named, count));
  world.print(`${formatBars(barsOfSingles(rows))}\n`);
  return rows;
}

function measureSends({ server, meter }: World, jobs: number, connections: number, open: OpenProducers): Promise<Cost> {
  return server.onFreshDatabase(async (url) => {
    const producers = await open(url, connections);
    try {
      await sendAll(producers, WARM_UP, connections);
      return await meter.measure(() => sendAll(producers, jobs, connections));
    } finally {
      await producers.close();
    }
  });
}

async function sendAll({ send }: Producers, jobs: number, connections: number): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < jobs) await send(next++);
  };
  await Promise.all(Array.from({ length: connections }, lane));
}
