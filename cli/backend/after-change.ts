import { errorCode } from '../../core/postgres/statement-errors.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';

/** SQLSTATE insufficient_privilege: the login of an application may change jobs but not read them. */
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Reads what explains a change. Returns undefined if the read fails: the change succeeded, and a command that failed
 * would be repeated.
 */
export function afterChange<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch(() => undefined);
}

/** Returns whether the database or the API refused a read for lack of a permission. */
export function isRefused(error: unknown): boolean {
  if (error instanceof CommandFailure) return error.exitCode === EXIT.refused;
  return errorCode(error) === INSUFFICIENT_PRIVILEGE;
}
