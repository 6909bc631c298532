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
