import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../../local/postgres/postgres.ts';
import { openChildren } from '../../local/processes/children.ts';

export interface BenchServer {
  readonly url: string;
  readonly pid: number;
  readonly version: string;
  /** Runs `work` with the URL of an empty database, created after a checkpoint, and drops the database. */
  onFreshDatabase<T>(work: (url: string) => Promise<T>): Promise<T>;
  /** Returns how many dead rows its tables have. Call it when the connections of the job system have ended. */
  countDeadTuples(url: string): Promise<number>;
  /** Opens a transaction with a snapshot in that database, and returns a function that ends it. */
  pinSnapshot(url: string): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

/** Durable, as by default. The WAL is large enough that no checkpoint starts during a measurement. */
export const SETTINGS = { shared_buffers: '512MB', max_wal_size: '4GB' };

const DATABASE = 'millrace_bench';
const CHECKPOINT = 'checkpoint';
const COUNT_CONNECTIONS = 'select count(*)::integer as connections from pg_stat_activity where datname = $1';
const COUNT_DEAD = 'select coalesce(sum(n_dead_tup), 0)::integer as dead from pg_stat_user_tables';
const CONNECTIONS_END_WITHIN_MS = 5_000;
const POLL_MS = 20;

/** Starts a Postgres server in a temporary folder. */
export async function startServer(): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  // Under root, the server runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o755);
  const children = openChildren();
  const clean = async () => {
    await children.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const server = await startPostgres({ children, folder: join(folder, 'data'), settings: SETTINGS });
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    return {
      url: server.url,
      pid: server.pid,
      version: server.version,
      async onFreshDatabase(work) {
        await admin.query(`create database ${DATABASE}`);
        await admin.query(CHECKPOINT);
        try {
          return await work(new URL(`/${DATABASE}`, server.url).href);
        } finally {
          await waitForConnections(admin, DATABASE);
          await admin.query(`drop database ${DATABASE} with (force)`);
        }
      },
      pinSnapshot,
      countDeadTuples,
      async stop() {
        await admin.end();
        await server.stop();
        await clean();
      },
    };
  } catch (error) {
    await clean();
    throw error;
  }
}

async function pinSnapshot(connectionString: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query('begin isolation level repeatable read; select 1');
  return () => client.end();
}

async function countDeadTuples(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query<{ dead: number }>(COUNT_DEAD);
  await client.end();
  return rows[0]?.dead ?? 0;
}

/** Waits for the connections of pools, which report their end a moment before the server notices it. */
async function waitForConnections(admin: pg.Client, database: string): Promise<void> {
  for (let waited = 0; waited < CONNECTIONS_END_WITHIN_MS; waited += POLL_MS) {
    const { rows } = await admin.query<{ connections: number }>(COUNT_CONNECTIONS, [database]);
    if (rows[0]?.connections === 0) return;
    await wait(POLL_MS);
  }
}
