import pg from 'pg';

/** Opens a pool that reports the errors of its connections, which would otherwise end the process. */
export function openPool(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  const report = (error: Error) => console.error(error.message);
  return pool.on('error', report).on('connect', (client) => client.on('error', report));
}
