import { messageOf } from '../../core/failure.ts';
import { errorCode, isStatementError } from '../../core/postgres/statement-errors.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { Finding } from './findings.ts';

const AGAIN = 'then run npx millrace doctor again';
/** What to do about a check that the database refuses, by SQLSTATE. */
const REMEDIES: Readonly<Record<string, string>> = {
  '42501': `use a login that is a member of millrace_operator, ${AGAIN}`,
  '53100': `free space on the disk of the database, ${AGAIN}`,
  '57014': `end long transactions, or wait until the database is less busy, ${AGAIN}`,
};
/** The same for other failures, by exit code. */
const BY_EXIT_CODE: Readonly<Record<number, string>> = {
  [EXIT.unreachable]: `check the address, the network and that the server runs, ${AGAIN}`,
  [EXIT.refused]: `use credentials with this permission, ${AGAIN}`,
};

/** Returns the finding of a check that could not run. */
export function failedCheck(check: string, error: unknown): Finding {
  const state = errorCode(error instanceof Error ? (error.cause ?? error) : error) ?? '';
  const code = error instanceof CommandFailure ? error.exitCode : EXIT.failed;
  const next = REMEDIES[state] ?? BY_EXIT_CODE[code] ?? 'run npx millrace doctor again';
  return { check, ok: false, detail: `not checked: ${messageOf(error)}`, next };
}

/**
 * Returns the findings of one check, or that it could not run, so that the other checks continue.
 * @throws the errors for which `endsAll` returns true: by default, those with which every other statement would fail
 * too.
 */
export async function attemptCheck(
  check: string,
  look: () => Promise<Finding | readonly Finding[]>,
  endsAll: (error: unknown) => boolean = isConnectionError,
): Promise<readonly Finding[]> {
  try {
    return [await look()].flat();
  } catch (error) {
    if (endsAll(error)) throw error;
    return [failedCheck(check, error)];
  }
}

function isConnectionError(error: unknown): boolean {
  return !isStatementError(error instanceof Error ? (error.cause ?? error) : error);
}
