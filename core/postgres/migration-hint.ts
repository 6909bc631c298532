import { errorCode } from './statement-errors.ts';

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
