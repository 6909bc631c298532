import type pg from 'pg';
import { inOnePacket, serverVersion } from './connect.ts';
import type { Queryable } from './queryable.ts';
import { leavesSound } from './statement-errors.ts';

/** The limits that the server enforces, since a client that vanished cannot, and how the server plans. */
export interface TransactionSettings {
  /** Longest time for one statement, in milliseconds. */
  readonly statementMs: number;
  /** Longest time between two statements of a transaction, in milliseconds. */
  readonly idleMs: number;
  /** Longest wait for one lock, in milliseconds; without it, only `statementMs` limits the wait. */
  readonly lockMs?: number;
  /**
   * Whether Postgres plans no sequential scan, for statements that find their rows by keys. With outdated statistics,
   * it would read the whole table of jobs instead.
   */
  readonly keyed?: boolean;
}

/** Settings for the format of values and for limits, because a role or a database may have changed each of them. */
const OURS = [
  ...["datestyle = 'ISO, MDY'", 'intervalstyle = postgres', "timezone = 'UTC'", 'extra_float_digits = 1'],
  ...['standard_conforming_strings = on', 'array_nulls = on', 'search_path = pg_catalog, pg_temp'],
  'jit = off',
];

const BEGIN = 'begin isolation level read committed; ';

/**
 * Returns the text that begins a transaction. It contains every setting on which a statement depends, for this
 * transaction only, because poolers refuse startup parameters. JIT is off, because compiling a claim takes longer than
 * running it. The text does not set whether the transaction may write: an administrator who makes a database read-only
 * intends this for Millrace too.
 */
export function beginText({ statementMs, idleMs, lockMs = 0, keyed = false }: TransactionSettings): string {
  const settings = [
    ...OURS,
    `lock_timeout = ${lockMs}`,
    `statement_timeout = ${statementMs}`,
    `idle_in_transaction_session_timeout = ${idleMs}`,
    ...(keyed ? ['enable_seqscan = off'] : []),
  ];
  return BEGIN + settings.map((setting) => `set local ${setting}`).join('; ');
}

/** Removes the limit on the whole transaction: each statement has its own. Versions before Postgres 17 refuse this. */
const NO_TOTAL_LIMIT = '; set local transaction_timeout = 0';

/**
 * Finds settings of a role, a database or a server that change how Postgres plans our statements, whether a commit is
 * on disk when it is reported, or the name under which the audit log records it.
 */
const FIND_FOREIGN_SETTINGS = `
  select coalesce(string_agg(format('set local %I = %L; ', s.name, s.boot_val), ''), '')
         || case when current_setting('millrace.actor', true) <> '' then 'set local millrace.actor = ''''; ' else '' end
         as undo
    from pg_settings s
    where s.context = 'user' and s.setting <> s.boot_val
      and (s.name = 'synchronous_commit' and s.setting = 'off'
        or s.category like 'Query Tuning / %' and s.name not in ('jit', 'effective_cache_size'))`;

/** The statements that undo these settings for a transaction. */
const undoing = new WeakMap<pg.PoolClient, string>();

/**
 * Looks up these settings of a new connection. They are the same for every connection of a login, so that most have
 * nothing to undo; sending all of them with each transaction would cost more than the statements.
 */
export async function readForeignSettings(client: pg.PoolClient, limits: TransactionSettings): Promise<void> {
  if (undoing.has(client)) return;
  const { rows } = await runAlone<{ undo: string }>(client, beginText(limits), { text: FIND_FOREIGN_SETTINGS });
  undoing.set(client, rows[0]?.undo ?? '');
}

function begin(client: pg.PoolClient, text: string, answerMs?: number): Promise<pg.QueryResult> {
  // Before ours, which may be stricter.
  const own = BEGIN + (undoing.get(client) ?? '') + text.slice(BEGIN.length);
  return client.query(waiting(serverVersion(client) >= 17 ? own + NO_TOTAL_LIMIT : own, answerMs));
}

/** Returns a statement for whose answer the client waits this long; without a time, as long as its pool says. */
function waiting(text: string, answerMs: number | undefined): pg.QueryConfig {
  return { text, ...(answerMs !== undefined && { query_timeout: answerMs }) } as pg.QueryConfig;
}

export async function run<Row>(client: pg.PoolClient, text: string, values: readonly unknown[] = []) {
  const result = await client.query(text, [...values]);
  return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 };
}

export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
  /** Longest wait for its answer, in milliseconds. Default: that of the pool. */
  readonly answerMs?: number | undefined;
}

/** Runs one statement in its own transaction. The client sends the whole transaction at once, without waiting. */
export async function runAlone<Row>(client: pg.PoolClient, first: string, { text, values, answerMs }: Statement) {
  // The wait for the end begins now, too.
  const sent = inOnePacket(client, () => [
    begin(client, first, answerMs),
    client.query(waiting(text, answerMs), [...(values ?? [])]),
    client.query(waiting('commit', answerMs)),
  ]);
  const [begun, answered, ended] = await Promise.allSettled(sent);
  for (const one of [begun, answered, ended]) if (one?.status === 'rejected') throw one.reason;
  const { rows, rowCount } = (answered as PromiseFulfilledResult<pg.QueryResult>).value;
  return { rows: rows as Row[], rowCount: rowCount ?? 0 };
}

/** Runs `work` in a transaction; when it throws, the transaction is rolled back or its connection is left to close. */
export async function inTransaction<T>(
  client: pg.PoolClient,
  first: string,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  // The first statement of `work` is sent immediately after it.
  const begun = begin(client, first);
  begun.catch(() => undefined);
  try {
    const value = await work({ query: (text, values) => run(client, text, values) });
    await begun;
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a statement had failed');
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
