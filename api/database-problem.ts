import { errorCode, isStatementError } from '../core/postgres/database.ts';
import { Problem } from './problem.ts';

const RETRY_AFTER = { 'Retry-After': '5' };
/** What pg says when its own limit ended the wait, which has no SQLSTATE. */
const CLIENT_TIMEOUT = /^(Query read timeout|timeout exceeded when trying to connect)/;
/** A value that the schema of the database refuses; the constraints' names are sentences. */
const CHECK_VIOLATION = '23514';
/** A statement ran too long, or waited for a lock, or was to be repeated too often. */
const TOO_LONG = new Set(['57014', '55P03', '40001', '40P01']);
/** Text or JSON that cannot be stored, a number out of its range, nesting beyond the server's stack. */
const UNSTORABLE = new Set(['22P05', '22P02', '22003', '22007', '22008', '22021', '22032', '54000', '54001']);

/** What a failure of the database means for whoever asked; undefined when it is a fault of ours. */
export function databaseProblem(error: unknown): Problem | undefined {
  const code = errorCode(error);
  if (code === CHECK_VIOLATION || (code !== undefined && UNSTORABLE.has(code))) {
    const constraint = (error as { constraint?: unknown }).constraint;
    const reason = typeof constraint === 'string' ? constraint : (error as Error).message;
    return new Problem('validation-failed', `the database refused a value: ${reason}`, { cause: error });
  }
  const options = { headers: RETRY_AFTER, cause: error };
  if (code === '25006') {
    return new Problem('database-read-only', 'nothing was changed: try again once it takes changes', options);
  }
  if (TOO_LONG.has(code ?? '')) {
    return new Problem('query-timeout', 'nothing was changed: ask for less, or try again later', options);
  }
  return isAway(error) ? new Problem('database-unavailable', 'try again in a few seconds', options) : undefined;
}

/** No connection, or one that broke. An error without SQLSTATE and without one of Node's codes is a bug of ours. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error) || isStatementError(error)) return isConnectionCode(errorCode(error));
  const code = (error as NodeJS.ErrnoException).code;
  const byCode = errorCode(error) !== undefined || (typeof code === 'string' && /^E[A-Z]+$/.test(code));
  return byCode || CLIENT_TIMEOUT.test(error.message) || /^Connection terminated/.test(error.message);
}

/** Too many connections, a login or database that is not there, a schema that was never made. */
function isConnectionCode(code: string | undefined): boolean {
  return code !== undefined && /^(53|28|3D|42883|42P01|3F)/.test(code);
}
