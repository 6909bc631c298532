import pg from 'pg';

let pool: pg.Pool | undefined;

/** Returns the connections of this process. The first call opens them: importing a handler file must not. */
export function database(): pg.Pool {
  pool ??= new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2 }).on('error', () => undefined);
  return pool;
}
