import { SettingError } from '../errors.ts';
import { readSecretText, SecretError } from '../settings/read-secret.ts';
import type { Login } from './queryable.ts';

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

/** Returns a login that reads user and password for each new pool of connections. */
export function secretLogin({ arn, host, port, database, ca }: SecretLogin): Login {
  return async () => {
    const secret = await readSecret(arn);
    return {
      ...credentialsOf(arn, secret),
      host: host ?? text(arn, 'host', secret.host, 'MILLRACE_DATABASE_HOST'),
      port: whole(port ?? String(secret.port ?? 5432)),
      database: database ?? text(arn, 'dbname', secret.dbname, 'MILLRACE_DATABASE_NAME'),
      ca,
    };
  };
}

async function readSecret(arn: string): Promise<Record<string, unknown>> {
  return parse(arn, await readSecretText(arn));
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
