import type pg from 'pg';
import { type Address, type DatabaseOptions, openPool, type Pool } from './pool.ts';

/** Runs constant SQL text with `$n` parameters. */
export interface Queryable {
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>;
}

export interface Database extends Queryable {
  /** Runs `work` in one transaction. When it throws, the transaction is rolled back or its connection closed. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Failures of a statement that a retry can resolve: serialization, deadlock, lock timeout. */
const AGAIN = new Set(['40001', '40P01', '55P03']);
/** Failures of the connection, not the statement: the connection must not be used again. */
const BROKEN = /^(08|57P0|25006)/;
const TRIES = 5;

/** Thrown by the work of a transaction to roll it back and keep its connection. */
export class Undo extends Error {
  override readonly name: string = 'Undo';
}

/** Opens a pool of connections; each is opened at its first use. */
export function openDatabase(options: DatabaseOptions & Address): Database {
  const pool = openPool(options);
  return {
    query: (text, values) => again(() => withClient(pool, (client) => run(client, text, values))),
    transaction: (work) => again(() => withClient(pool, (client) => inTransaction(client, work))),
    close: () => pool.end(),
  };
}

async function run<Row>(client: pg.PoolClient, text: string, values: readonly unknown[] = []) {
  const result = await client.query(text, [...values]);
  return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 };
}

async function inTransaction<T>(client: pg.PoolClient, work: (tx: Queryable) => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const value = await work({ query: (text, values) => run(client, text, values) });
    await client.query('commit');
    return value;
  } catch (error) {
    // Without an SQLSTATE the connection's state is unknown: it is closed, which rolls back too.
    if (leavesSound(error)) await rollBack(client, error);
    throw error;
  }
}

/** Rolls back. A failed rollback leaves the state unknown, so its error without SQLSTATE replaces the cause. */
async function rollBack(client: pg.PoolClient, cause: unknown): Promise<void> {
  await client.query('rollback').catch(() => {
    throw new Error('a failed transaction could not be rolled back', { cause });
  });
}

/** Runs `work` on a connection, and closes the connection when it may be broken or still in a transaction. */
async function withClient<T>(pool: Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  const onError = () => {
    broken = true;
  };
  client.on('error', onError);
  try {
    return await work(client);
  } catch (error) {
    broken ||= !leavesSound(error);
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

function leavesSound(error: unknown): boolean {
  return error instanceof Undo || isStatementError(error);
}

/** Returns whether the database refused a statement, and neither the connection nor the server failed. */
export function isStatementError(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && !BROKEN.test(code);
}

/** Returns the SQLSTATE of a database error; undefined without one. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  // Every SQLSTATE has a digit, unlike Node's EPIPE.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Repeats work that failed because of a concurrent transaction, after a random pause. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === TRIES || !AGAIN.has(errorCode(error) ?? '')) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 40 * attempt));
    }
  }
}
