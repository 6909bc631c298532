import { PRODUCERS, type Producers } from './contenders/producers.ts';
import { type Cost, type Meter, median } from './measures/meter.ts';
import { costTable } from './measures/report.ts';
import type { BenchServer } from './measures/server.ts';

export interface SinglesOptions {
  readonly jobs: number;
  readonly runs: number;
  readonly print: (text: string) => void;
}

const CONNECTIONS = [1, 8, 32];
/** Jobs that are not measured: connections open, and plans are cached. */
const WARM_UP = 500;

/** Measures single inserts, each in its own transaction, of all systems alternately. */
export async function compareSingles(
  server: BenchServer,
  meter: Meter,
  { jobs, runs, print }: SinglesOptions,
): Promise<void> {
  const cases = CONNECTIONS.flatMap((connections) =>
    Object.entries(PRODUCERS).map(([system, open]) => ({
      name: `${system}, ${connections} connections`,
      open,
      connections,
    })),
  );
  const costs = new Map<string, Cost[]>(cases.map(({ name }) => [name, []]));
  for (let run = 0; run < runs; run++) {
    for (const { name, open, connections } of cases) {
      const cost = await server.onFreshDatabase(async (url) => {
        const producers = await open(url, connections);
        try {
          await sendAll(producers, WARM_UP, connections);
          return await meter.measure(() => sendAll(producers, jobs, connections));
        } finally {
          await producers.close();
        }
      });
      costs.get(name)?.push(cost);
    }
  }
  print(
    costTable(
      'enqueue one by one',
      [...costs].map(([name, list]) => [name, median(list)] as const),
      jobs,
    ),
  );
}

async function sendAll({ send }: Producers, jobs: number, connections: number): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < jobs) await send(next++);
  };
  await Promise.all(Array.from({ length: connections }, lane));
}
