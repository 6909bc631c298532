import { openTestDatabase } from '../local/testing/testing.ts';

const RUNS = 9;

/** Prints how long a test file waits for its database, with and without a start of the shared server. */
export async function runOpenTestDatabase(print: (text: string) => void): Promise<void> {
  const first = await measure();
  const others: number[] = [];
  for (let run = 0; run < RUNS; run++) others.push(await measure());
  const [fastest = 0, ...rest] = others.toSorted((a, b) => a - b);
  const median = rest[Math.floor(RUNS / 2) - 1] ?? 0;
  const spread = `median of ${RUNS}, the fastest ${inSeconds(fastest)} s`;
  print(`\nopenTestDatabase takes ${inSeconds(median)} s, ${spread}; the first took ${inSeconds(first)} s`);
}

async function measure(): Promise<number> {
  const begun = performance.now();
  const database = await openTestDatabase();
  const took = performance.now() - begun;
  await database.close();
  return took;
}

function inSeconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
