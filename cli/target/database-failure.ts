import { errorCode } from '../../core/postgres/statement-errors.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { DatabaseAddress } from './database-address.ts';

/** Reasons by operating-system code. The system's own message is not passed on, since it may contain the address. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'the DNS lookup failed',
  ETIMEDOUT: 'no response',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ENOENT: 'no such socket',
};

/** Reasons by SQLSTATE, longest prefix first. */
const REFUSALS: readonly (readonly [prefix: string, reason: string])[] = [
  ['3D000', 'the database does not exist'],
  ['53300', 'the server has no free connection'],
  ['57P', 'the server is starting or stopping'],
  ['08', 'the connection was lost'],
];

export const MIGRATE = 'npx millrace migrate --database-url …';
const PASSWORD = 'include it in DATABASE_URL, set PGPASSWORD, or add a line to ~/.pgpass';
/** What to do without a permission. */
const GRANT =
  'reading jobs and dead letters and redriving require the role millrace_operator (grant millrace_operator to ' +
  '<login>), enqueueing and cancelling require millrace_app';
/** For a database on a server that stages share, which a role alone does not open. */
const ADMIT = '; if stages share this server, the login also requires grant usage on schema millrace to <login>';

/** Turns a database or network error into a sentence and an exit code; returns other errors unchanged. */
export function databaseFailure(error: unknown, { label }: DatabaseAddress): unknown {
  if (!(error instanceof Error) || error instanceof CommandFailure) return error;
  const cause = error.cause ?? error;
  const reason = unreachable(cause);
  if (reason !== undefined) return new CommandFailure(EXIT.unreachable, `cannot reach ${label}: ${reason}`);
  if (/password must be/.test(cause instanceof Error ? cause.message : '')) {
    return new CommandFailure(EXIT.refused, `${label} requires a password: ${PASSWORD}`);
  }
  const state = errorCode(cause) ?? '';
  if (state.startsWith('28')) {
    return new CommandFailure(EXIT.refused, `${label} denied access: check the user and the password in the address`);
  }
  if (state === '42501') {
    const admit = /for schema millrace/.test(error.message) ? ADMIT : '';
    return new CommandFailure(EXIT.refused, `${label}: ${error.message}; ${GRANT}${admit}`);
  }
  if (isSchemaMissing(cause)) {
    return new CommandFailure(
      EXIT.failed,
      `${label} has no Millrace schema, or a schema from another release: ${MIGRATE}`,
    );
  }
  return error;
}

/** Returns why a server is unreachable, by an operating-system or TLS code; undefined for any other error. */
export function networkReason(error: unknown): string | undefined {
  const code = String((error as { code?: unknown } | null)?.code);
  const isTls = /^(ERR_SSL|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|CERT_|UNABLE_TO)/.test(code);
  return isTls ? `TLS failed (${code})` : NETWORK[code];
}

/**
 * Returns the reason, and what to do, if the server's certificate is not trusted or the server does not support TLS.
 */
function tlsReason(error: unknown): string | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (/does not support SSL/.test(String(message))) {
    return 'the server does not support TLS: to send the password and all data unencrypted, append sslmode=disable';
  }
  if (!/^(DEPTH_ZERO|SELF_SIGNED|CERT_|UNABLE_TO|ERR_TLS_CERT)/.test(String(code))) return undefined;
  return (
    `the certificate of the server is not trusted (${code}): name its authority with sslrootcert=<PEM file>, or, to ` +
    'accept any certificate, append sslmode=require'
  );
}

function unreachable(error: unknown): string | undefined {
  const known =
    tlsReason(error) ?? networkReason(error) ?? REFUSALS.find(([prefix]) => errorCode(error)?.startsWith(prefix))?.[1];
  if (known !== undefined) return known;
  // pg has no codes for these.
  const message = error instanceof Error ? error.message : '';
  if (/timeout exceeded when trying to connect|timeout expired/i.test(message)) return 'no response';
  if (/^Connection terminated/i.test(message)) return message.replace(/\.?$/, '');
  return undefined;
}

/** Returns whether an object of the Millrace schema is missing, which a typing error in a person's SQL also causes. */
export function isSchemaMissing(error: unknown): boolean {
  const message = error instanceof Error ? error.message : '';
  const state = errorCode(error) ?? '';
  return ['42P01', '3F000', '42883', '42703'].includes(state) && message.includes('millrace');
}
