import type pg from 'pg';
import type { Log } from '../log.ts';
import { type Server, serversOf, verifiedTls } from './address.ts';
import { isTlsRefused, makePool } from './connect.ts';
import type { Address, Credentials } from './queryable.ts';
import { errorCode } from './statement-errors.ts';

export interface DatabaseOptions {
  /** Largest number of connections. A handler has 1. */
  max: number;
  /** Name of the connections in `pg_stat_activity`. */
  name: string;
  log: Log;
  /** Longest time for one statement, in milliseconds. Default `STATEMENT_TIMEOUT_MS`. */
  statementTimeoutMs?: number;
  /** Longest wait for a connection, in milliseconds. Default `CONNECT_TIMEOUT_MS`. */
  connectTimeoutMs?: number;
}

export interface Pool {
  connect(): Promise<pg.PoolClient>;
  end(): Promise<void>;
}

/** The password is wrong, or this user may not log in. */
const REFUSED = new Set(['28P01', '28000']);

/** Default limit of a statement, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 10_000;
/** Default for the longest wait for a connection, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 30_000;
/** How much longer the client waits than the server, in milliseconds. */
export const GRACE_MS = 500;
const RESTED_MS = 5000;
export const SIGN_OF_LIFE_MS = 1000;
/** The time of the last release of each connection. */
const usedAt = new WeakMap<pg.PoolClient, number>();

/** Opens a pool. It reads the login and opens connections at the first use. */
export function openPool(options: DatabaseOptions & Address): Pool {
  const { ways, again } = waysTo(options);
  let way = 0;
  let current: Promise<pg.Pool> | undefined;
  const forget = (which: Promise<pg.Pool>) => {
    if (current !== which) return;
    current = undefined;
    way = (way + 1) % ways.length;
  };
  const connect = async () => {
    current ??= (ways[way] as () => Promise<Server>)().then((server) => watchedPool(server, options));
    const mine = current;
    const pool = await mine.catch((error: unknown) => {
      forget(mine);
      throw error;
    });
    return connectSoundly(pool).catch((error: unknown) => {
      if (again(error)) {
        forget(mine);
        void pool.end().catch(() => undefined);
      }
      throw error;
    });
  };
  return {
    connect: () => connect().catch((error: unknown) => (again(error) ? connect() : Promise.reject(error))),
    end: async () => (await current?.catch(() => undefined))?.end(),
  };
}

interface Ways {
  /** One or more ways to connect to the server; after the last one, the first is tried again. */
  readonly ways: readonly (() => Promise<Server>)[];
  /** Returns whether the next way may succeed after an error. */
  readonly again: (error: unknown) => boolean;
}

function waysTo(address: Address): Ways {
  if ('login' in address) return { ways: [async () => toServer(await address.login())], again: isRefused };
  const servers = serversOf(address.connectionString);
  return {
    ways: servers.map((server) => async () => server),
    again: (error) => servers.length > 1 && isTlsRefused(error),
  };
}

/**
 * Returns a working connection. Lambda freezes a function between invocations, so the function cannot notice a lost
 * connection. An idle connection is therefore tested with a query, and closed if the query fails. The next idle
 * connection is tested then; after the last one, a new connection is opened.
 */
async function connectSoundly(pool: pg.Pool): Promise<pg.PoolClient> {
  for (;;) {
    const client = await pool.connect();
    if (Date.now() - (usedAt.get(client) ?? Date.now()) < RESTED_MS) return client;
    try {
      await client.query({ text: 'select 1', query_timeout: SIGN_OF_LIFE_MS } as pg.QueryConfig);
      return client;
    } catch {
      client.release(true);
    }
  }
}

function isRefused(error: unknown): boolean {
  return REFUSED.has(String((error as { code?: unknown } | null)?.code));
}

function toServer({ ca, ...login }: Credentials): Server {
  return { ...login, ssl: verifiedTls(login.host, ca), sslnegotiation: 'postgres', session: {} };
}

function watchedPool(server: Server, options: DatabaseOptions): pg.Pool {
  const pool = makePool(server, {
    name: options.name,
    max: options.max,
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    // The server ends a statement first; this limit is for a server that does not answer.
    answerTimeoutMs: (options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS) + GRACE_MS,
  });
  pool.on('release', (_error, client) => usedAt.set(client, Date.now()));
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (error) => options.log.warn('database_connection_lost', { error, sqlstate: errorCode(error) }));
  return pool;
}
