import pg from 'pg';

let pool: pg.Pool | undefined;

/** Returns the pool of this process. It opens connections when a job requires them, not at import. */
export function database(): pg.Pool {
  if (pool !== undefined) return pool;
  pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2 });
  // Without a listener, the end of an idle session would end the process. The next query opens another session.
  pool.on('error', () => undefined);
  return pool;
}

export async function closeDatabase(): Promise<void> {
  await pool?.end();
  pool = undefined;
}
