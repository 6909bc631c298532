import type pg from 'pg';
import { type DatabaseOptions, GRACE_MS, openPool, type Pool, STATEMENT_TIMEOUT_MS } from './pool.ts';
import type { Address, Queryable } from './queryable.ts';
import { canRepeat, isLockTimeout, leavesSound } from './statement-errors.ts';
import {
  beginText,
  inTransaction,
  readForeignSettings,
  run,
  runAlone,
  type TransactionSettings,
} from './transaction.ts';

export type { Queryable };

export interface Database extends Queryable {
  /** Runs `work` in one transaction. When it throws, the transaction is rolled back or its connection closed. */
  transaction<T>(work: (tx: Queryable) => Promise<T>, limits?: Partial<TransactionSettings>): Promise<T>;
  /** Runs statements that find their rows by keys, and that Postgres must plan so: see `TransactionSettings.keyed`. */
  readonly keyed: Queryable;
  /** Runs statements with these limits. With `lockMs`, a statement that waited too long for a lock is not repeated. */
  limited(limits: Partial<TransactionSettings>): Queryable;
  /** Runs a statement that Postgres refuses inside a transaction, such as `create index concurrently`. */
  command(text: string): Promise<void>;
  close(): Promise<void>;
}

const TRIES = 5;
/** Longest time between two statements of a transaction, in milliseconds; after that, its client counts as gone. */
const IDLE_TIMEOUT_MS = 10_000;

/** Opens a pool of connections; each is opened at its first use. */
export function openDatabase(options: DatabaseOptions & Address): Database {
  const pool = openPool(options);
  const limits: TransactionSettings = {
    statementMs: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    idleMs: IDLE_TIMEOUT_MS,
  };
  const using = <T>(work: (client: pg.PoolClient) => Promise<T>, { lockMs = 0 }: Partial<TransactionSettings> = {}) =>
    again(
      () =>
        withClient(pool, async (client) => {
          await readForeignSettings(client, limits);
          return work(client);
        }),
      (error) => canRepeat(error) && !(lockMs > 0 && isLockTimeout(error)),
    );
  const limited = (own: Partial<TransactionSettings> = {}): Queryable => {
    const begin = beginText({ ...limits, ...own });
    const { statementMs = 0 } = own;
    const answerMs = statementMs > limits.statementMs ? statementMs + GRACE_MS : undefined;
    return { query: (text, values) => using((client) => runAlone(client, begin, { text, values, answerMs }), own) };
  };
  return {
    ...limited(),
    keyed: limited({ keyed: true }),
    limited,
    transaction: (work, own = {}) => {
      const text = beginText({ ...limits, ...own });
      return using((client) => inTransaction(client, text, work), own);
    },
    command: (text) => using(async (client) => void (await run(client, text))),
    close: () => pool.end(),
  };
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

/** Repeats work that failed because of a concurrent transaction, after a random pause. */
async function again<T>(work: () => Promise<T>, isRepeated: (error: unknown) => boolean): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === TRIES || !isRepeated(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 40 * attempt));
    }
  }
}
