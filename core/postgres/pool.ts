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

/** More than the ways of any address: a limit for callers that find the refused pool of another caller. */
const MOST_WAYS = 6;

/** Opens a pool. It reads the login and opens connections at the first use. */
export function openPool(options: DatabaseOptions & Address): Pool {
  const { next, again } = waysTo(options);
  let current: Promise<{ server: Server; pool: pg.Pool }> | undefined;
  const open = async (tried: readonly Server[], failure: unknown) => {
    const server = await next(tried);
    if (server === undefined) throw failure;
    return { server, pool: watchedPool(server, options) };
  };
  const connect = async (tried: readonly Server[] = [], failure?: unknown): Promise<pg.PoolClient> => {
    current ??= open(tried, failure);
    const mine = current;
    const forget = () => {
      if (current === mine) current = undefined;
    };
    const { server, pool } = await mine.catch((error: unknown) => {
      forget();
      throw error;
    });
    try {
      return await connectSoundly(pool);
    } catch (error) {
      if (again(error)) forget();
      // Another caller can have forgotten the pool, because the server refused it, and ended it.
      if (current === mine || tried.length === MOST_WAYS) throw error;
      return connect([...tried, server], error);
    } finally {
      // A pool that has ended never answers those who still wait for one of its connections.
      if (current !== mine && pool.waitingCount === 0) void pool.end().catch(() => undefined);
    }
  };
  return {
    connect: () => connect(),
    end: async () => (await current?.catch(() => undefined))?.pool.end(),
  };
}

interface Ways {
  /** Returns a server that was not tried; undefined after the last one. */
  readonly next: (tried: readonly Server[]) => Promise<Server | undefined>;
  /** Returns whether the next way may succeed after an error. */
  readonly again: (error: unknown) => boolean;
}

function waysTo(address: Address): Ways {
  if ('login' in address) {
    const next = async (tried: readonly Server[]) => {
      const login = await address.login(tried.map(({ user, password }) => ({ user, password })));
      return login && toServer(login);
    };
    return { next, again: isRefused };
  }
  const servers = serversOf(address.connectionString);
  return {
    next: async (tried) => servers.find((one) => !tried.includes(one)),
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
