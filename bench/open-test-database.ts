import { openTestDatabase } from '../local/testing/testing.ts';
import type { TestDatabaseResult } from './result.ts';

const RUNS = 9;

/** Returns how many seconds a test file waits for its database, with and without a start of the shared server. */
export async function runOpenTestDatabase(print: (text: string) => void): Promise<TestDatabaseResult> {
  const first = await measure();
  const others: number[] = [];
  for (let run = 0; run < RUNS; run++) others.push(await measure());
  const [fastest = 0, ...rest] = others.toSorted((a, b) => a - b);
  const median = rest[Math.floor(RUNS / 2) - 1] ?? 0;
  const spread = `median of ${RUNS}, the fastest ${inSeconds(fastest)} s`;
  print(`\nopenTestDatabase takes ${inSeconds(median)} s, ${spread}; the first took ${inSeconds(first)} s`);
  return { firstSeconds: first / 1000, medianSeconds: median / 1000 };
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
