import { readdir } from 'node:fs/promises';
import pg from 'pg';
import { readProcessStat } from './process-stat.ts';

/** What a measurement cost the Postgres server. */
export interface Cost {
  readonly seconds: number;
  readonly walBytes: number;
  /** Transactions that wrote. Postgres assigns a transaction its id at the first write, so the count is exact. */
  readonly commits: number;
  /** User and system time of the server, including its background processes. */
  readonly cpuMs: number;
}

export interface Meter {
  measure(work: () => Promise<void>): Promise<Cost>;
  close(): Promise<void>;
}

const READ_COUNTERS = `
  select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
         pg_snapshot_xmax(pg_current_snapshot())::text::float8 as xid`;

/** Opens a meter on the counters of the server whose postmaster is `pid`; Linux only. */
export async function openMeter({ url, pid }: { url: string; pid: number }): Promise<Meter> {
  const client = new pg.Client({ connectionString: url, application_name: 'bench-meter' });
  await client.connect();
  const read = async () => {
    const { rows } = await client.query<{ wal: number; xid: number }>(READ_COUNTERS);
    return { at: performance.now(), cpuMs: await cpuOf(pid), wal: rows[0]?.wal ?? 0, xid: rows[0]?.xid ?? 0 };
  };
  return {
    async measure(work) {
      const before = await read();
      await work();
      const after = await read();
      return {
        seconds: (after.at - before.at) / 1000,
        walBytes: after.wal - before.wal,
        commits: after.xid - before.xid,
        cpuMs: after.cpuMs - before.cpuMs,
      };
    },
    close: () => client.end(),
  };
}

/** Returns the processor time of the postmaster, its reaped children and its living ones. */
async function cpuOf(postmaster: number): Promise<number> {
  for (;;) {
    const before = await childrenOf(postmaster);
    const own = await readProcessStat(postmaster);
    if (own === undefined) throw new Error(`/proc has no process ${postmaster}, whose processor time is measured`);
    const after = await childrenOf(postmaster);
    // A child reaped between the two reads would count twice or not at all.
    if (before.map(({ pid }) => pid).join() !== after.map(({ pid }) => pid).join()) continue;
    return after.reduce((sum, { cpuMs }) => sum + cpuMs, own.cpuMs + own.reapedCpuMs);
  }
}

async function childrenOf(parent: number) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map(readProcessStat));
  return stats.filter((stat) => stat !== undefined).filter((stat) => stat.parent === parent);
}

export function sum(costs: readonly Cost[]): Cost {
  const total = (of: (cost: Cost) => number) => costs.reduce((all, cost) => all + of(cost), 0);
  return {
    seconds: total(({ seconds }) => seconds),
    walBytes: total(({ walBytes }) => walBytes),
    commits: total(({ commits }) => commits),
    cpuMs: total(({ cpuMs }) => cpuMs),
  };
}

/** Returns the median of each number. */
export function median(costs: readonly Cost[]): Cost {
  const middle = (of: (cost: Cost) => number) => costs.map(of).sort((a, b) => a - b)[Math.floor(costs.length / 2)] ?? 0;
  return {
    seconds: middle(({ seconds }) => seconds),
    walBytes: middle(({ walBytes }) => walBytes),
    commits: middle(({ commits }) => commits),
    cpuMs: middle(({ cpuMs }) => cpuMs),
  };
}
