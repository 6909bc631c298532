import { SettingError } from '../errors.ts';
import { readSecretText, SecretError } from '../settings/read-secret.ts';
import type { Credentials, Login, Refused } from './queryable.ts';

/** A secret in the format of RDS, with values that override or complete its fields. */
export interface SecretLogin {
  readonly arn: string;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly database?: string | undefined;
  /** Certificate authorities in PEM, one of which must have signed the server's certificate. */
  readonly ca: string;
}

/**
 * Reads the secret's username and password.
 * @throws SecretError that names the secret when it is unreadable, or is not JSON with both.
 */
export async function readCredentials(arn: string) {
  return credentialsOf(arn, await readSecret(arn));
}

function credentialsOf(arn: string, { username, password }: Record<string, unknown>) {
  return { user: text(arn, 'username', username), password: text(arn, 'password', password) };
}

/**
 * Labels of the versions of a secret. A rotation sets the new password in the database before the new version becomes
 * the current one. A deployment at this moment sets the old password again, which is then the previous one.
 */
const OTHER_VERSIONS = ['AWSPENDING', 'AWSPREVIOUS'];

/** Returns a login that reads user and password for each new pool of connections, also during a rotation. */
export function secretLogin(options: SecretLogin): Login {
  const { arn } = options;
  return async (refused) => {
    const current = loginOf(options, await readSecret(arn));
    if (isNew(current, refused)) return current;
    for (const version of OTHER_VERSIONS) {
      const other = await readSecret(arn, version).catch(() => undefined);
      const login = other && loginOf(options, other);
      if (login && isNew(login, refused)) return login;
    }
    return undefined;
  };
}

/**
 * Returns a login whose password is a new token for each connection: a token is valid for minutes, a connection for
 * hours. When the server refuses a token, there is no other one.
 */
export function tokenLogin(credentials: Omit<Credentials, 'password'>, newToken: () => Promise<string>): Login {
  return async (refused) => (refused.length === 0 ? { ...credentials, password: newToken } : undefined);
}

function isNew({ user, password }: Refused, refused: readonly Refused[]): boolean {
  return !refused.some((one) => one.user === user && one.password === password);
}

function loginOf({ arn, host, port, database, ca }: SecretLogin, secret: Record<string, unknown>): Credentials {
  return {
    ...credentialsOf(arn, secret),
    host: host ?? text(arn, 'host', secret.host, 'MILLRACE_DATABASE_HOST'),
    port: whole(port ?? String(secret.port ?? 5432)),
    database: database ?? text(arn, 'dbname', secret.dbname, 'MILLRACE_DATABASE_NAME'),
    ca,
  };
}

async function readSecret(arn: string, version?: string): Promise<Record<string, unknown>> {
  return parse(arn, await readSecretText(arn, { version }));
}

function parse(arn: string, secret: string): Record<string, unknown> {
  const value = safeParse(secret);
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new SecretError(arn, 'expected JSON with username and password');
}

/** Parses JSON; undefined for other text, because a parser's error may contain parts of the secret. */
function safeParse(secret: string): unknown {
  try {
    return JSON.parse(secret);
  } catch {
    return undefined;
  }
}

function text(arn: string, field: string, value: unknown, setting?: string): string {
  if (typeof value === 'string' && value !== '') return value;
  const instead = setting === undefined ? '' : `, or the setting ${setting}`;
  throw new SecretError(arn, `expected JSON with ${field}${instead}`);
}

function whole(port: string): number {
  const value = Number(port);
  if (Number.isInteger(value) && value > 0 && value < 65_536) return value;
  throw new SettingError('MILLRACE_DATABASE_PORT', 'a port from 1 to 65535', port);
}
