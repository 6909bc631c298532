import type pg from 'pg';
// @ts-expect-error The files of the driver have no types, and its index loads another driver for NODE_PG_FORCE_NATIVE.
import ClientOfDriver from 'pg/lib/client.js';
// @ts-expect-error It has no types either.
import PoolOfDriver from 'pg-pool';
import type { Server } from './address.ts';
import { COLUMN_VALUES } from './column-values.ts';

export interface ConnectOptions {
  /** Name of the connection in `pg_stat_activity`, unless the address has one. */
  readonly name: string;
  /** Longest wait for a connection, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Longest wait for the response to a statement, in milliseconds. Default: no limit. */
  readonly answerTimeoutMs?: number;
}

/** Parameters that pg reads from `PG*` variables or `pg.defaults` if they are missing. */
const FILLED = [
  ...['options', 'replication', 'binary', 'client_encoding', 'fallback_application_name', 'query_timeout'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'],
] as const;

/** Members of a client that pg reads after its constructor; its types do not declare them. */
interface Driver {
  readonly connection: NodeJS.EventEmitter & { readonly stream: { destroy(): void; cork(): void; uncork(): void } };
  readonly connectionParameters: Record<string, unknown>;
  binary: boolean;
  password: pg.ClientConfig['password'];
}

const Client: typeof pg.Client = ClientOfDriver;
const Pool: typeof pg.Pool = PoolOfDriver;

const versions = new WeakMap<object, number>();

/** A connection that depends on nothing but its options. Its loss never ends the process, whatever runs on it. */
class OwnClient extends Client {
  constructor(config: pg.ClientConfig) {
    super(config);
    const driver = this as unknown as Driver;
    for (const name of FILLED) driver.connectionParameters[name] = config[name as keyof pg.ClientConfig];
    driver.binary = false;
    // If the password is missing, pg reads PGPASSWORD or a password file.
    driver.password = typeof config.password === 'function' ? config.password : String(config.password ?? '');
    this.on('error', () => undefined);
    // pg-pool forgets a client that fails at its login, and the server would wait a minute for its password.
    driver.connection.on('error', () => driver.connection.stream.destroy());
    driver.connection.on('parameterStatus', ({ parameterName, parameterValue }: Record<string, string>) => {
      if (parameterName === 'server_version') versions.set(this, Number.parseInt(parameterValue ?? '', 10));
    });
  }
}

/** Makes a pool, which opens connections on demand. */
export function makePool(server: Server, { max, ...options }: ConnectOptions & { readonly max: number }): pg.Pool {
  return new Pool({
    ...configOf(server, options),
    max,
    // Sends statements without waiting for the responses to earlier statements.
    pipeline: true,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
    Client: OwnClient as never,
  });
}

function configOf({ session, ...server }: Server, options: ConnectOptions): pg.ClientConfig {
  return {
    ...server,
    application_name: options.name,
    ...session,
    connectionTimeoutMillis: options.connectTimeoutMs,
    ...(options.answerTimeoutMs !== undefined && { query_timeout: options.answerTimeoutMs }),
    keepAlive: true,
    types: COLUMN_VALUES,
  };
}

/** Opens a connection to the first of these servers that accepts it. */
export async function openClient(servers: readonly Server[], options: ConnectOptions): Promise<pg.Client> {
  for (const [index, server] of servers.entries()) {
    const client = new OwnClient(configOf(server, options));
    try {
      await client.connect();
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      if (index === servers.length - 1 || !isTlsRefused(error)) throw error;
    }
  }
  throw new Error('expected at least one server');
}

/** Runs `work`, and sends all statements that it begins in one packet. */
export function inOnePacket<T>(client: object, work: () => T): T {
  const { stream } = (client as Driver).connection;
  stream.cork();
  try {
    return work();
  } finally {
    stream.uncork();
  }
}

/** Returns the major version of the server to which a client is connected. */
export function serverVersion(client: object): number {
  return versions.get(client) ?? 0;
}

/** Returns whether a connection may succeed with TLS instead of without it, or the reverse. */
export function isTlsRefused(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  // pg has no code for the first two errors. 28000: no line of pg_hba.conf matches.
  return /not support SSL|establishing an SSL/.test(String(message)) || /^(28000|EPROTO|ERR_SSL)/.test(String(code));
}
