import type pg from 'pg';
import { serversOf } from './address.ts';
import { COLUMN_TEXTS } from './column-values.ts';
import { openClient } from './connect.ts';
import { CONNECT_TIMEOUT_MS, type DatabaseOptions } from './pool.ts';

interface Session {
  readonly pid: number;
}

const OWN_SESSION = 'select pg_backend_pid() as pid';
// By name too: behind a pooler, another client may use this session by now.
const CANCEL_SESSION = `
  select pg_cancel_backend(pid) from pg_stat_activity where pid = $1 and application_name = $2 and state = 'active'`;

/** The result of one statement: cells are the text from Postgres, so that no digit is lost. */
export interface StatementResult {
  /** `SELECT`, `INSERT` …; empty without a statement. */
  readonly command: string;
  readonly rowCount: number | null;
  /** `type` is the oid of the column's type. */
  readonly columns: readonly { readonly name: string; readonly type: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

export interface TextOptions extends Pick<DatabaseOptions, 'name' | 'connectTimeoutMs'> {
  readonly connectionString: string;
  readonly onNotice: (message: string) => void;
  /** When it fires, a request to the server cancels the running statement, as psql does on Ctrl-C. */
  readonly cancelled: AbortSignal;
}

/**
 * Runs a user's text of one or more statements, on a separate connection and without a time limit. Postgres runs them
 * in one transaction unless the text controls transactions. `unfinished`: the text left a transaction open, which is
 * rolled back.
 */
export async function runText(
  text: string,
  options: TextOptions,
): Promise<{ results: StatementResult[]; unfinished: boolean }> {
  const client = await open(options);
  client.on('notice', ({ message }) => options.onNotice(message ?? ''));
  try {
    cancelOn(options, await client.query<Session>(OWN_SESSION));
    const answer: unknown = await client.query({ text, rowMode: 'array', types: COLUMN_TEXTS });
    const results = [answer].flat() as pg.QueryArrayResult<(string | null)[]>[];
    return { results: results.map(toStatementResult), unfinished: client.getTransactionStatus() !== 'I' };
  } finally {
    await client.end().catch(() => undefined);
  }
}

function open({ connectionString, name, connectTimeoutMs = CONNECT_TIMEOUT_MS }: TextOptions): Promise<pg.Client> {
  return openClient(serversOf(connectionString), { name, connectTimeoutMs });
}

/** Cancels the statement of a session when the signal fires. Otherwise the statement would continue and commit. */
function cancelOn(options: TextOptions, { rows }: pg.QueryResult<Session>): void {
  const cancel = async () => {
    const other = await open(options);
    try {
      await other.query(CANCEL_SESSION, [rows[0]?.pid, options.name]);
    } finally {
      await other.end().catch(() => undefined);
    }
  };
  const report = (error: Error) => options.onNotice(`cannot cancel the statement, which continues: ${error.message}`);
  const start = () => void cancel().catch(report);
  if (options.cancelled.aborted) start();
  else options.cancelled.addEventListener('abort', start, { once: true });
}

function toStatementResult({ command, rowCount, fields, rows }: pg.QueryArrayResult<(string | null)[]>) {
  const columns = fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }));
  return { command: command ?? '', rowCount, columns, rows };
}

const FIND_NO_SCHEMA = `select to_regnamespace('millrace') is null`;

/** Returns whether the database has no Millrace schema; true if that cannot be read. */
export async function lacksSchema(options: TextOptions): Promise<boolean> {
  return runText(FIND_NO_SCHEMA, options).then(
    ({ results }) => results[0]?.rows[0]?.[0] === 't',
    () => true,
  );
}
