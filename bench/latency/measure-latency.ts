import { systemTime } from '../../core/time.ts';
import type { World } from '../measures/measure-jobs.ts';
import { line } from '../measures/report.ts';
import type { CompareOptions } from '../options.ts';
import type { LatencyRow } from '../result.ts';
import { LIVE_SYSTEMS } from './live-systems.ts';
import { offer, offered } from './offer.ts';
import { percentiles, Waits } from './waits.ts';

/** Offered jobs per second. */
export const RATES = [1, 100, 1000];
/** Jobs that are not measured: connections open, and plans are cached. */
export const WARM_UP = { rate: 100, seconds: 0.2 };
/** A system that is slower than the rate has this long to start the rest. */
export const STARTS_WITHIN_MS = 60_000;
const SHORTEST_SECONDS = 1;
const LONGEST_SECONDS = 60;
const HEADS = ['offered/s', 'jobs', 'p50 ms', 'p95 ms', 'p99 ms', 'unstarted'];

/** Returns how long each rate is offered in all runs together: at the highest one, for the jobs of a run. */
export function secondsFor(jobs: number, runs = 1): number {
  const seconds = jobs / (RATES.at(-1) ?? 1);
  return Math.min(LONGEST_SECONDS, Math.max(SHORTEST_SECONDS, seconds)) / runs;
}

/** Measures the time from enqueue to start in this process, all systems alternately. */
export async function measureLatency(world: World, { jobs, runs, peers }: CompareOptions): Promise<LatencyRow[]> {
  const systems = Object.keys(LIVE_SYSTEMS).filter((name) => peers || name.startsWith('millrace'));
  const cases = RATES.flatMap((rate) => systems.map((name) => ({ name, rate, seconds: secondsFor(jobs, runs) })));
  const all = new Map<(typeof cases)[number], (readonly number[])[]>(cases.map((one) => [one, []]));
  for (let run = 0; run < runs; run++) {
    for (const [one, list] of all) list.push(await measureWaits(world, one));
  }
  const rows = [...all].map(([one, list]) => latencyRow(one, list.flat(), runs));
  world.print(latencyTable('enqueue to start', rows));
  return rows;
}

interface Case {
  readonly name: string;
  readonly rate: number;
  readonly seconds: number;
}

async function measureWaits({ server }: World, { name, rate, seconds }: Case): Promise<number[]> {
  const open = LIVE_SYSTEMS[name];
  if (open === undefined) throw new Error(`no system ${name}; known are ${Object.keys(LIVE_SYSTEMS).join(', ')}`);
  return server.onFreshDatabase(async (url) => {
    const waits = new Waits();
    const live = await open(url, (id) => waits.started(id, performance.now()));
    const send = (id: number) => {
      waits.enqueued(id, performance.now());
      return live.send(id);
    };
    try {
      for (const part of [WARM_UP, { rate, seconds }]) {
        waits.take();
        await offer({ ...part, send, time: systemTime, random: Math.random });
        const started = new AbortController();
        await Promise.race([waits.untilStarted(), systemTime.sleep(STARTS_WITHIN_MS, started.signal)]);
        started.abort();
      }
      return waits.take();
    } finally {
      await live.close();
    }
  });
}

/** Combines the waits of several runs. */
export function latencyRow({ name, rate, seconds }: Case, waits: readonly number[], runs = 1): LatencyRow {
  const jobs = runs * offered({ rate, seconds });
  return { name, rate, seconds: runs * seconds, jobs, unstarted: jobs - waits.length, ...percentiles(waits) };
}

export function latencyTable(title: string, rows: readonly LatencyRow[]): string {
  const lines = rows.map(({ name, rate, jobs, unstarted, ...at }) => {
    const percent = [at.p50, at.p95, at.p99].map((ms) => ms.toFixed(1));
    return line(name, [String(rate), String(jobs), ...percent, String(unstarted)]);
  });
  return `${[line(title, HEADS), ...lines].join('\n')}\n`;
}
