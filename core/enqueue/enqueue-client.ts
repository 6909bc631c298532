import { SettingError } from '../errors.ts';

/**
 * A client like `pg.Client`, `pg.PoolClient` or `pg.Pool`, or TypeORM's EntityManager, which returns only the rows. The
 * job is inserted in the client's current transaction, and a rollback removes it.
 */
export interface EnqueueClient {
  query(text: string, values: unknown[]): Promise<{ readonly rows: unknown[] } | unknown[]>;
}

/** Returns the rows of a result. */
export function rowsOf(result: { readonly rows: unknown[] } | unknown[]): unknown[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | undefined)?.rows;
  if (Array.isArray(rows)) return rows;
  throw new SettingError('client', 'a client whose query(text, values) returns { rows } or the rows', result);
}

/** Rejects a value that is not a connection, such as a handler in its place, which JavaScript accepts. */
export function checkClient(client: unknown): void {
  if (typeof (client as { query?: unknown } | null | undefined)?.query === 'function') return;
  const expected = 'a connection or a pool of pg, or an object with the same function query(text, values)';
  throw new SettingError('client', expected, client);
}
