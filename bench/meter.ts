import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

/** What a piece of work cost the server. */
export interface Cost {
  readonly seconds: number;
  readonly walBytes: number;
  /** Transactions that wrote. The server gives a transaction an id at its first write, so these are counted exactly. */
  readonly commits: number;
  /** User and system time of the whole server, its background processes included. */
  readonly cpuMs: number;
}

export interface Meter {
  measure(work: () => Promise<void>): Promise<Cost>;
  close(): Promise<void>;
}

const READ_COUNTERS = `
  select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
         pg_snapshot_xmax(pg_current_snapshot())::text::float8 as xid`;
/** Linux counts processor time in hundredths of a second, whatever the kernel's own clock. */
const TICK_MS = 10;

/** Reads the counters of the server whose postmaster is `pid`; Linux only. */
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

/** The postmaster with the children it has reaped, and those that live. */
async function cpuOf(postmaster: number): Promise<number> {
  for (;;) {
    const before = await childrenOf(postmaster);
    const own = await statOf(postmaster);
    if (own === undefined) throw new Error(`no process ${postmaster}: its processor time is read from /proc`);
    const after = await childrenOf(postmaster);
    // A child reaped in between would be counted twice, or not at all.
    if (before.map(({ pid }) => pid).join() !== after.map(({ pid }) => pid).join()) continue;
    return after.reduce((sum, { ticks }) => sum + ticks, own.ticks + own.reapedTicks) * TICK_MS;
  }
}

async function childrenOf(parent: number) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map(statOf));
  return stats.filter((stat) => stat !== undefined).filter((stat) => stat.parent === parent);
}

async function statOf(pid: number | string) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // The name may hold blanks; what follows it is the state, the parent, and so on (proc(5)).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const number = (index: number) => Number(fields[index]);
  return { pid: String(pid), parent: number(1), ticks: number(11) + number(12), reapedTicks: number(13) + number(14) };
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

/** Each number's own median. */
export function median(costs: readonly Cost[]): Cost {
  const middle = (of: (cost: Cost) => number) => costs.map(of).sort((a, b) => a - b)[Math.floor(costs.length / 2)] ?? 0;
  return {
    seconds: middle(({ seconds }) => seconds),
    walBytes: middle(({ walBytes }) => walBytes),
    commits: middle(({ commits }) => commits),
    cpuMs: middle(({ cpuMs }) => cpuMs),
  };
}
