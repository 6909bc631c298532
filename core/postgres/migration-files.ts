import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownFile } from '../own-files.ts';

/** One file of the migrations folder. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /**
   * The statements to run one by one; set when the first line is `-- outside a transaction`, for indexes of large
   * tables. Each statement ends with `;` at the end of a line.
   */
  readonly statements?: readonly string[];
}

/** Returns the folder that the package contains. */
export function ownMigrations(): string {
  return ownFile('migrations');
}

const OUTSIDE = /^-- outside a transaction[ \t]*\r?\n/;

/** Returns the migrations of a folder, in the order in which they apply. */
export function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return names.sort().map((name) => {
    const sql = readFileSync(join(folder, name), 'utf8');
    const checksum = createHash('sha256').update(sql).digest('hex');
    return { name: name.slice(0, -4), sql, checksum, ...(OUTSIDE.test(sql) && { statements: split(sql) }) };
  });
}

function split(sql: string): string[] {
  const code = sql.replaceAll(/^[ \t]*--.*$/gm, '');
  return code.split(/;[ \t]*\r?$/m).flatMap((statement) => statement.trim() || []);
}
