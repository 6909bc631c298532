import tls, { type PeerCertificate } from 'node:tls';
import pg from 'pg';
import type { Log } from '../log.ts';
import { nearestTime } from '../time.ts';

/** The fields of a login. TLS is verified with the certificate authorities and the name of the host. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** Certificate authorities in PEM. */
  readonly ca: string;
}

/** Reads the credentials: once, and again when the server refuses them, because the password may have changed. */
export type Login = () => Promise<Credentials>;

export type Address = { connectionString: string } | { login: Login };

export interface DatabaseOptions {
  /** Largest number of connections. A handler has 1. */
  max: number;
  /** Name of the connections in `pg_stat_activity`. */
  name: string;
  log: Log;
  /** Longest time for one statement, in milliseconds. Default `STATEMENT_TIMEOUT_MS`. */
  statementTimeoutMs?: number;
  /** Longest wait for a connection, in milliseconds. Default 30,000. */
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
/** By how much the client waits longer than the server, in milliseconds. */
const GRACE_MS = 500;
const RESTED_MS = 5000;
export const SIGN_OF_LIFE_MS = 1000;
/** The oid of timestamptz, which never changes. */
const TIME_TYPE = 1184;
/** Reads times so that no odd row breaks a list, and other values as pg does. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    const parse = pg.types.getTypeParser(oid, format as 'text');
    return oid === TIME_TYPE ? (text: string) => nearestTime(text, parse(text)) : parse;
  },
};
/** The time of the last release of each connection. */
const usedAt = new WeakMap<pg.PoolClient, number>();

/** Opens a pool. It reads the login and opens connections at the first use. */
export function openPool(options: DatabaseOptions & Address): Pool {
  if ('connectionString' in options) {
    const pool = makePool(options, { connectionString: options.connectionString });
    return { connect: () => connectSoundly(pool), end: () => pool.end() };
  }
  const { login } = options;
  let current: Promise<pg.Pool> | undefined;
  const forget = (which: Promise<pg.Pool>) => {
    if (current === which) current = undefined;
  };
  const connect = async () => {
    current ??= login().then((credentials) => makePool(options, toConfig(credentials)));
    const mine = current;
    const pool = await mine.catch((error: unknown) => {
      forget(mine);
      throw error;
    });
    return connectSoundly(pool).catch((error: unknown) => {
      if (isRefused(error)) {
        forget(mine);
        void pool.end().catch(() => undefined);
      }
      throw error;
    });
  };
  return {
    connect: () => connect().catch((error: unknown) => (isRefused(error) ? connect() : Promise.reject(error))),
    end: async () => (await current?.catch(() => undefined))?.end(),
  };
}

/**
 * Returns a working connection. Lambda freezes a function between invocations, so it cannot notice a lost connection:
 * an idle connection is tested with a query, and closed if the query fails.
 */
async function connectSoundly(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = await pool.connect();
  if (Date.now() - (usedAt.get(client) ?? Date.now()) < RESTED_MS) return client;
  try {
    await client.query({ text: 'select 1', query_timeout: SIGN_OF_LIFE_MS } as pg.QueryConfig);
    return client;
  } catch {
    client.release(true);
    return pool.connect();
  }
}

function isRefused(error: unknown): boolean {
  return REFUSED.has(String((error as { code?: unknown } | null)?.code));
}

function toConfig({ ca, ...login }: Credentials): pg.PoolConfig {
  // Verifies the given host even if it is an IP address: pg passes only names on.
  const checkServerIdentity = (_name: string, certificate: PeerCertificate) =>
    tls.checkServerIdentity(login.host, certificate);
  return { ...login, ssl: { ca, rejectUnauthorized: true, checkServerIdentity } };
}

function makePool(options: DatabaseOptions, address: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    ...address,
    types: TYPES,
    max: options.max,
    application_name: options.name,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 30_000,
    // The server ends a statement first; this limit is for a server that does not answer.
    query_timeout: (options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS) + GRACE_MS,
    keepAlive: true,
    // Sends statements without waiting for the answers to those before.
    pipeline: true,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
  });
  pool.on('release', (_error, client) => usedAt.set(client, Date.now()));
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (error) => options.log.warn('database_connection_lost', { error }));
  return pool;
}
