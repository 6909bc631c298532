import tls, { type PeerCertificate } from 'node:tls';
import pg from 'pg';
import type { Log } from '../log.ts';

/** What a login needs; TLS is verified against the certificate authorities and the name of the host. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** In PEM. */
  readonly ca: string;
}

/** Reads the credentials: once, and again when they are refused, since a password may have been changed under us. */
export type Login = () => Promise<Credentials>;

export type Address = { connectionString: string } | { login: Login };

export interface DatabaseOptions {
  /** Most connections at once. A handler has 1. */
  max: number;
  /** How the connections are called in `pg_stat_activity`. */
  name: string;
  log: Log;
  /** Longest time for one statement, in milliseconds. Default 30,000. */
  statementTimeoutMs?: number;
  /** Longest wait for a connection, in milliseconds. Default 30,000. */
  connectTimeoutMs?: number;
}

export interface Pool {
  connect(): Promise<pg.PoolClient>;
  end(): Promise<void>;
}

/** The password is wrong, or this user may not log in (any more). */
const REFUSED = new Set(['28P01', '28000']);

const RESTED_MS = 5000;
const SIGN_OF_LIFE_MS = 2000;
/** When connections were given back last. */
const usedAt = new WeakMap<pg.PoolClient, number>();

/** Opens a pool; its connections, and the login if there is one to be read, are made when first needed. */
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
 * A function is frozen between two invocations, and does not notice what becomes of its connection: one that has rested
 * is asked for a sign of life, and thrown away if it gives none.
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
  // Against the name that was asked for, also where it is an address: pg hands only names on.
  const checkServerIdentity = (_name: string, certificate: PeerCertificate) =>
    tls.checkServerIdentity(login.host, certificate);
  return { ...login, ssl: { ca, rejectUnauthorized: true, checkServerIdentity } };
}

function makePool(options: DatabaseOptions, address: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    ...address,
    max: options.max,
    application_name: options.name,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 30_000,
    query_timeout: options.statementTimeoutMs ?? 30_000,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
  });
  pool.on('release', (_error, client) => usedAt.set(client, Date.now()));
  // Without a listener the death of an idle connection would end the process.
  pool.on('error', (error) => options.log.warn('database_connection_lost', { error }));
  return pool;
}
