import { errorCode } from '../../core/postgres/database.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { DatabaseAddress } from './database-address.ts';

/** By code of the operating system. What it says itself is not passed on, since it may hold parts of the address. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up just now',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to the host',
  ECONNRESET: 'it hung up',
  EPIPE: 'it hung up',
  ENOENT: 'there is no such socket',
};

/** By SQLSTATE, longest prefix first. */
const REFUSALS: readonly (readonly [prefix: string, reason: string])[] = [
  ['3D000', 'there is no database of this name'],
  ['53300', 'it has no connection left'],
  ['57P', 'it is starting or stopping'],
  ['08', 'the connection broke'],
];

export const MIGRATE = 'npx millrace migrate --database-url …';
/** What helps whoever lacks a right. */
const GRANT =
  'to look at jobs and dead letters and to redrive takes the role millrace_operator (grant millrace_operator to ' +
  '<login>), to enqueue and cancel takes millrace_app';

/** Turns an error of the database or of the way to it into a sentence and an exit code; others stay as they are. */
export function databaseFailure(error: unknown, { label }: DatabaseAddress): unknown {
  if (!(error instanceof Error) || error instanceof CommandFailure) return error;
  const cause = error.cause ?? error;
  const reason = unreachable(cause);
  if (reason !== undefined) return new CommandFailure(EXIT.unreachable, `cannot reach ${label}: ${reason}`);
  const state = errorCode(cause) ?? '';
  if (state.startsWith('28')) {
    return new CommandFailure(
      EXIT.refused,
      `${label} does not let us in: check the user and the password of the address`,
    );
  }
  if (state === '42501') return new CommandFailure(EXIT.refused, `${label}: ${error.message}; ${GRANT}`);
  if (isSchemaMissing(cause)) {
    return new CommandFailure(EXIT.failed, `${label} has no Millrace schema, or that of another release: ${MIGRATE}`);
  }
  return error;
}

/** Why a server cannot be reached, by the code of the operating system or of TLS; undefined for any other error. */
export function networkReason(error: unknown): string | undefined {
  const code = String((error as { code?: unknown } | null)?.code);
  const isTls = /^(ERR_SSL|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|CERT_|UNABLE_TO)/.test(code);
  return isTls ? `TLS failed (${code})` : NETWORK[code];
}

function unreachable(error: unknown): string | undefined {
  const known = networkReason(error) ?? REFUSALS.find(([prefix]) => errorCode(error)?.startsWith(prefix))?.[1];
  if (known !== undefined) return known;
  // pg has no codes for these.
  const message = error instanceof Error ? error.message : '';
  if (/timeout exceeded when trying to connect|timeout expired/i.test(message)) return 'it does not answer';
  if (/does not support SSL|^Connection terminated/i.test(message)) return message.replace(/\.?$/, '');
  return undefined;
}

/** Something of our schema is not there; of a person's own text it may be a slip as well. */
export function isSchemaMissing(error: unknown): boolean {
  const message = error instanceof Error ? error.message : '';
  const state = errorCode(error) ?? '';
  return ['42P01', '3F000', '42883', '42703'].includes(state) && message.includes('millrace');
}
