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
  /** User and system time of this process, which runs the job system. */
  readonly nodeMs: number;
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
    return {
      at: performance.now(),
      cpuMs: await cpuOf(pid),
      nodeMs: ownMs(),
      wal: rows[0]?.wal ?? 0,
      xid: rows[0]?.xid ?? 0,
    };
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
        nodeMs: after.nodeMs - before.nodeMs,
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

function ownMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const FIELDS = ['seconds', 'walBytes', 'commits', 'cpuMs', 'nodeMs'] as const satisfies readonly (keyof Cost)[];

export function sum(costs: readonly Cost[]): Cost {
  return combine(costs, (values) => values.reduce((all, value) => all + value, 0));
}

/** Returns the median of each number. */
export function median(costs: readonly Cost[]): Cost {
  return combine(costs, middle);
}

/** Returns the median of numbers. */
export function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function combine(costs: readonly Cost[], reduce: (values: readonly number[]) => number): Cost {
  return Object.fromEntries(
    FIELDS.map((field) => [field, reduce(costs.map((cost) => cost[field]))]),
  ) as unknown as Cost;
}
