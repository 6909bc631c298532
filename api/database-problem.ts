import { errorCode, isStatementError } from '../core/postgres/statement-errors.ts';
import { Problem } from './problem.ts';

const RETRY_AFTER = { 'Retry-After': '5' };
/** Messages of pg's own timeouts, which have no SQLSTATE. */
const CLIENT_TIMEOUT = /^(Query read timeout|timeout exceeded when trying to connect)/;
/** A check constraint of the schema refused a value; the constraints' names are sentences. */
const CHECK_VIOLATION = '23514';
/** A statement or lock timed out, or a transaction failed to serialize too often. */
const TOO_LONG = new Set(['57014', '55P03', '40001', '40P01']);
/** Postgres cannot store the text or JSON, the number is out of range, or the nesting exceeds the server's stack. */
const UNSTORABLE = new Set(['22P05', '22P02', '22003', '22007', '22008', '22021', '22032', '54000', '54001']);

/** Returns the problem that a database error means for the caller; undefined when the error is a bug of the API. */
export function databaseProblem(error: unknown): Problem | undefined {
  const code = errorCode(error);
  if (code === CHECK_VIOLATION || (code !== undefined && UNSTORABLE.has(code))) {
    const constraint = (error as { constraint?: unknown }).constraint;
    const reason = typeof constraint === 'string' ? constraint : (error as Error).message;
    return new Problem('validation-failed', `the database refused a value: ${reason}`, { cause: error });
  }
  const options = { headers: RETRY_AFTER, cause: error };
  if (code === '25006') {
    return new Problem(
      'database-read-only',
      'nothing was changed: try again when the database accepts writes',
      options,
    );
  }
  if (TOO_LONG.has(code ?? '')) {
    return new Problem('query-timeout', 'nothing was changed: send a smaller request, or try again later', options);
  }
  return isAway(error) ? new Problem('database-unavailable', 'try again in a few seconds', options) : undefined;
}

/** Whether the connection failed or broke. An error without SQLSTATE and without a Node code is a bug of the API. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error) || isStatementError(error)) return isConnectionCode(errorCode(error));
  const code = (error as NodeJS.ErrnoException).code;
  const byCode = errorCode(error) !== undefined || (typeof code === 'string' && /^E[A-Z]+$/.test(code));
  return byCode || CLIENT_TIMEOUT.test(error.message) || /^Connection terminated/.test(error.message);
}

/** Too many connections, a missing login or database, or a missing schema. */
function isConnectionCode(code: string | undefined): boolean {
  return code !== undefined && /^(53|28|3D|42883|42P01|3F)/.test(code);
}
