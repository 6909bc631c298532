import pg from 'pg';
import type { Database } from '../../core/postgres/database.ts';
import { beginText, inTransaction, readForeignSettings } from '../../core/postgres/transaction.ts';

interface Watched {
  /** The address of the database with the login of its owner. */
  readonly url: string;
  /** Default: millrace_runtime. */
  readonly role?: string;
}

export interface Costs {
  /** Pages of tables and indexes, including those that functions read; a page read twice counts twice. */
  readonly pages: number;
  /** Rows that were read and then filtered out. */
  readonly filteredRows: number;
}

/** A session whose statements show their plans; like a warm Lambda, it keeps the plans of functions. */
export interface WatchedSession {
  readonly db: Database;
  /** Returns the text of the plans of the statements of `work`, including those inside functions. */
  plans(work: () => Promise<unknown>): Promise<string[]>;
  /** Returns what the statements of `work` read, without those inside functions. */
  costs(work: () => Promise<unknown>): Promise<Costs>;
  close(): Promise<void>;
}

const SHOW_PLANS = `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on;
  set auto_explain.log_timing = off; set auto_explain.log_buffers = on; set client_min_messages = 'log'`;
const LIMITS = { statementMs: 120_000, idleMs: 120_000 };

/** Stops autovacuum in this database: an autoanalyze makes sessions plan again, which reads pages of the catalogs. */
export async function stopAutovacuum(pool: pg.Pool): Promise<void> {
  await pool.query(`do $$ declare one regclass; begin
    for one in select oid from pg_class where relnamespace = 'millrace'::regnamespace and relkind = 'r' loop
      execute format('alter table %s set (autovacuum_enabled = off)', one);
    end loop; end $$`);
}

export async function openWatched({ url, role = 'millrace_runtime' }: Watched): Promise<WatchedSession> {
  const client = new pg.Client({ connectionString: url, pipeline: true });
  await client.connect();
  // A test that fails drops its database with this connection.
  client.on('error', () => undefined);
  let texts: string[] = [];
  client.on('notice', ({ message = '' }) => texts.push(message));
  await client.query(`${SHOW_PLANS}; set role ${role}`);
  const own = client as unknown as pg.PoolClient;
  await readForeignSettings(own, LIMITS);
  const transaction: Database['transaction'] = (work, { keyed = false } = {}) =>
    inTransaction(own, beginText({ ...LIMITS, keyed }), work);
  const limited: Database['limited'] = (own) => ({
    query: (text, values) => transaction((tx) => tx.query(text, values), own),
  });
  const show = async (work: () => Promise<unknown>, nested: 'on' | 'off') => {
    await client.query(`reset role; set auto_explain.log_nested_statements = ${nested}; set role ${role}`);
    texts = [];
    await work();
    return texts;
  };
  return {
    db: {
      transaction,
      ...limited({}),
      keyed: limited({ keyed: true }),
      limited,
      command: async (text) => void (await client.query(text)),
      close: async () => undefined,
    },
    plans: (work) => show(work, 'on'),
    costs: async (work) => {
      const plans = await show(work, 'off');
      return { pages: sum(plans.map(pagesOfPlan)), filteredRows: sum(plans.map(filteredRows)) };
    },
    close: () => client.end(),
  };
}

/** The first line of a plan with pages includes those of the lines below it. */
function pagesOfPlan(plan: string): number {
  const [, hit, read] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? [];
  return Number(hit ?? 0) + Number(read ?? 0);
}

/** Returns how many rows a plan read in vain. Each of its counts is the mean of the loops of a node. */
export function filteredRows(plan: string): number {
  let loops = 0;
  const counts = plan.split('\n').map((line) => {
    loops = Number(/ loops=(\d+)\)/.exec(line)?.[1] ?? loops);
    return loops * Number(/Rows Removed by .*: ([\d.]+)/.exec(line)?.[1] ?? 0);
  });
  return sum(counts);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Returns the plans of `work` in a new session. */
export function plansOf(watched: Watched, work: (db: Database) => Promise<unknown>): Promise<string[]> {
  return within(watched, (session) => session.plans(() => work(session.db)));
}

/** Returns the pages that `work` reads in a new session. */
export function pagesOf(watched: Watched, work: (db: Database) => Promise<unknown>): Promise<number> {
  return within(watched, async (session) => (await session.costs(() => work(session.db))).pages);
}

async function within<T>(watched: Watched, work: (session: WatchedSession) => Promise<T>): Promise<T> {
  const session = await openWatched(watched);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}
