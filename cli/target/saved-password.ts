import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { optionalSetting } from '../../core/config.ts';
import type { Server } from '../../core/postgres/address.ts';

const FIELD = /((?:\\.|[^\\:])*)(?::|$)/g;
/** Permission bits for other accounts. libpq also ignores a file that has any of them. */
const OTHERS = 0o077;

/**
 * Returns the password for an address without a password, found as by psql: `PGPASSWORD`, or else the first matching
 * line `host:port:database:user:password` of the file `PGPASSFILE` or `~/.pgpass`. Returns undefined if neither has
 * one.
 */
export function findPassword(server: Server): string | undefined {
  const given = optionalSetting('PGPASSWORD');
  if (given !== undefined) return given;
  const wanted = [server.host, String(server.port), server.database, server.user];
  for (const line of readLines(optionalSetting('PGPASSFILE') ?? join(homedir(), '.pgpass'))) {
    const fields = [...line.matchAll(FIELD)].map(([, field = '']) => field.replaceAll(/\\(.)/g, '$1'));
    if (wanted.every((value, index) => fields[index] === '*' || fields[index] === value)) return fields[4] || undefined;
  }
  return undefined;
}

function readLines(file: string): string[] {
  try {
    const { mode } = statSync(file);
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0) return [];
    return readFileSync(file, 'utf8')
      .split(/\r?\n/)
      .filter((line) => line !== '' && !line.startsWith('#'));
  } catch {
    // The file is missing or unreadable. The server may require no password.
    return [];
  }
}
