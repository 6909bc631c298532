import { errorCode } from './database.ts';

/** What to look at, by SQLSTATE, by a code of the operating system or of TLS, or by what pg says without a code. */
const HINTS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/^42501/, 'the login needs CREATEROLE and CREATE on the database'],
  [/^28/, 'user and password must be those of a login of this database: look at the secret or the address'],
  [/^3D000/, 'make the database first, or name another'],
  [/^53300/, 'the database has no connection left'],
  [
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|timeout exceeded)/,
    'nothing answers there: look at host and port, and at the network and security groups on the way',
  ],
  [
    /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_)/,
    'the file of certificate authorities (MILLRACE_DATABASE_CA, databaseCa) does not have the one of this server',
  ],
  [/^ERR_TLS_CERT_ALTNAME/, 'ask for the host by a name that is in its certificate'],
  [/^The server does not support SSL/, 'a login by a secret is encrypted: switch TLS on in the database'],
];

/** Why a migration could not be made, for whoever deploys: a sentence in brackets, or nothing. */
export function migrationHint(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const signs = [errorCode(error), code, message].filter((sign) => typeof sign === 'string');
  const [, hint] = HINTS.find(([pattern]) => signs.some((sign) => pattern.test(sign))) ?? [];
  return hint === undefined ? '' : ` (${hint})`;
}
