import type { Database } from '../../core/postgres/database.ts';

/** Returns the database with this function for every statement that has its own transaction, whatever its limits. */
export function withQuery(
  db: Database,
  query: (text: string, values?: readonly unknown[]) => Promise<unknown>,
): Database {
  const own = query as Database['query'];
  return { ...db, query: own, limited: () => ({ query: own }) };
}
