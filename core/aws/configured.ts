import { existsSync, readFileSync } from 'node:fs';
import { databaseSecret, databaseUrl, databaseUser } from '../config.ts';
import { SettingError } from '../errors.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import type { DatabaseOptions } from '../postgres/pool.ts';
import type { Address } from '../postgres/queryable.ts';
import { secretLogin, tokenLogin } from '../postgres/secrets.ts';
import { openDatabaseTokens } from './database-token.ts';

/**
 * Returns the address of the database from the environment: a secret, which is read at the first use, a user that IAM
 * authenticates, or a URL.
 */
export function configuredAddress(): Address {
  const secret = databaseSecret();
  if (secret !== undefined) {
    const { caFile, ...rest } = secret;
    return { login: secretLogin({ ...rest, ca: readCertificates(caFile) }) };
  }
  const login = databaseUser();
  if (login === undefined) return { connectionString: databaseUrl() };
  const { caFile, ...rest } = login;
  return { login: tokenLogin({ ...rest, ca: readCertificates(caFile) }, openDatabaseTokens(rest)) };
}

/** Opens the database of this process. */
export function openConfiguredDatabase(options: DatabaseOptions): Database {
  return openDatabase({ ...configuredAddress(), ...options });
}

function readCertificates(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8');
  throw new SettingError('MILLRACE_DATABASE_CA', 'the path of an existing PEM file', file);
}
