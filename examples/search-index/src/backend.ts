import pg from 'pg';

/** Where the records and the indexes are. An index without an address is in the database of the records. */
const ADDRESSES = { records: 'DATABASE_URL', keyword: 'KEYWORD_INDEX_URL', vector: 'VECTOR_INDEX_URL' } as const;

export type Backend = keyof typeof ADDRESSES;

const pools = new Map<string, pg.Pool>();

/** Returns the connections to a backend. The first call opens them: importing a handler file must not. */
export function connect(backend: Backend): pg.Pool {
  const url = process.env[ADDRESSES[backend]] || process.env.DATABASE_URL || '';
  const pool = pools.get(url) ?? new pg.Pool({ connectionString: url, max: 5 }).on('error', () => undefined);
  pools.set(url, pool);
  return pool;
}

/** Ends all connections of this process. */
export async function disconnect(): Promise<void> {
  await Promise.all([...pools.values()].map((pool) => pool.end()));
  pools.clear();
}

/** The server cannot be reached; or, by SQLSTATE, it has no free connection, stops or starts. */
const UNAVAILABLE = ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENOTFOUND', 'ETIMEDOUT', '53300', '57P01', '57P03'];

/** Returns whether an error says that a backend is down, and not that it refuses the work. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && UNAVAILABLE.includes(String(error.code));
}
