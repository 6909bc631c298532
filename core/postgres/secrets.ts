import { SettingError } from '../errors.ts';
import type { Login } from './pool.ts';

/** Where a secret of the form that RDS gives it does not say all, or says it wrong for us. */
export interface SecretLogin {
  readonly arn: string;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly database?: string | undefined;
  /** Certificate authorities in PEM, one of which has to have signed the server's certificate. */
  readonly ca: string;
}

const REQUEST_TIMEOUT_MS = 5000;

/**
 * The secret's username and password.
 * @throws SettingError that names the secret when it cannot be read, or is no JSON that has both.
 */
export async function readCredentials(arn: string) {
  return credentialsOf(arn, await readSecret(arn));
}

function credentialsOf(arn: string, { username, password }: Record<string, unknown>) {
  return { user: text(arn, 'username', username), password: text(arn, 'password', password) };
}

/** A login whose user and password are read anew for each pool of connections. */
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
  // Loaded late: where there is no secret, nothing waits for it.
  const { GetSecretValueCommand, SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager');
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 2000, requestTimeout: REQUEST_TIMEOUT_MS, throwOnRequestTimeout: true },
  });
  const answer = await client.send(new GetSecretValueCommand({ SecretId: arn })).catch((cause: Error) => {
    const why = `cannot be read (${cause.name}: ${cause.message}): check that it exists and that this role may`;
    throw new SecretError(arn, why, { cause });
  });
  client.destroy();
  return parse(arn, answer.SecretString ?? '');
}

function parse(arn: string, secret: string): Record<string, unknown> {
  const value = safeParse(secret);
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new SecretError(arn, 'expected JSON with username and password');
}

/** Undefined for what is no JSON: what a parser says of a secret may hold parts of it. */
function safeParse(secret: string): unknown {
  try {
    return JSON.parse(secret);
  } catch {
    return undefined;
  }
}

/** A secret cannot be read, or lacks something. Its value is in no message. */
class SecretError extends Error {
  override readonly name = 'SecretError';

  constructor(arn: string, what: string, options?: ErrorOptions) {
    super(`secret ${arn}: ${what}`, options);
  }
}

function text(arn: string, field: string, value: unknown, setting?: string): string {
  if (typeof value === 'string' && value !== '') return value;
  const instead = setting === undefined ? '' : `, or ${setting} to say it instead`;
  throw new SecretError(arn, `expected JSON with ${field}${instead}`);
}

function whole(port: string): number {
  const value = Number(port);
  if (Number.isInteger(value) && value > 0 && value < 65_536) return value;
  throw new SettingError('MILLRACE_DATABASE_PORT', 'a port from 1 to 65535', port);
}
