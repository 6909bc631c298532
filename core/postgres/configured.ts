import { existsSync, readFileSync } from 'node:fs';
import { databaseSecret, databaseUrl } from '../config.ts';
import { SettingError } from '../errors.ts';
import { type Database, openDatabase } from './database.ts';
import type { Address, DatabaseOptions } from './pool.ts';
import { secretLogin } from './secrets.ts';

/** Where the database is, as the environment says: by a secret, which is read when first needed, or by an address. */
export function configuredAddress(): Address {
  const secret = databaseSecret();
  if (secret === undefined) return { connectionString: databaseUrl() };
  const { caFile, ...rest } = secret;
  return { login: secretLogin({ ...rest, ca: readCertificates(caFile) }) };
}

/** The database of this function. */
export function openConfiguredDatabase(options: DatabaseOptions): Database {
  return openDatabase({ ...configuredAddress(), ...options });
}

function readCertificates(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8');
  throw new SettingError('MILLRACE_DATABASE_CA', 'the path of a PEM file that is there', file);
}
