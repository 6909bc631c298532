const LOCK_TIMEOUT = '55P03';
/** Failures of a statement that a retry can resolve: serialization, deadlock, lock timeout. */
const AGAIN = new Set(['40001', '40P01', LOCK_TIMEOUT]);
/** Failures of the connection, not the statement: the connection must not be used again. */
const BROKEN = /^(08|57P0|25006|25P0[34])/;

/** Thrown by the work of a transaction to roll it back and keep its connection. */
export class Undo extends Error {
  override readonly name: string = 'Undo';
}

/** Returns the SQLSTATE of a database error; undefined without one. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  // Every SQLSTATE has a digit, unlike Node's EPIPE.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Returns whether the database refused a statement, and neither the connection nor the server failed. */
export function isStatementError(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && !BROKEN.test(code);
}

/** Returns whether the connection can be used again after the error: the state of the session is known. */
export function leavesSound(error: unknown): boolean {
  return error instanceof Undo || isStatementError(error);
}

/** Returns whether the same work can succeed when it is repeated after a pause. */
export function canRepeat(error: unknown): boolean {
  return AGAIN.has(errorCode(error) ?? '');
}

/** Returns whether the statement waited longer for a lock than its `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return errorCode(error) === LOCK_TIMEOUT;
}

/** Returns whether the statement took longer than its `statement_timeout`, or was cancelled. */
export function isStatementTimeout(error: unknown): boolean {
  return errorCode(error) === '57014';
}

/** Hints by SQLSTATE, by an operating-system or TLS code, or by a message of pg without a code. */
const HINTS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/^42501/, 'the login requires CREATEROLE and CREATE on the database'],
  [/^28/, 'the user or password is not a login of this database: check the secret or the address'],
  [/^3D000/, 'create the database first, or name another one'],
  [/^53300/, 'the database has no free connection'],
  [
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|timeout exceeded)/,
    'the database does not respond: check the host and port, the network and the security groups',
  ],
  [
    /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_)/,
    'the file of certificate authorities (MILLRACE_DATABASE_CA, databaseCa) lacks the authority of this server',
  ],
  [/^ERR_TLS_CERT_ALTNAME/, 'address the host by a name that is in its certificate'],
  [/^The server does not support SSL/, 'a login from a secret requires TLS: enable TLS in the database'],
];

/** Returns what to do about a failed migration: a sentence in parentheses, or nothing. */
export function migrationHint(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const signs = [errorCode(error), code, message].filter((sign) => typeof sign === 'string');
  const [, hint] = HINTS.find(([pattern]) => signs.some((sign) => pattern.test(sign))) ?? [];
  return hint === undefined ? '' : ` (${hint})`;
}
