import { createHash } from 'node:crypto';
import { openLog } from '../log.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { migrate, readMigrations } from '../postgres/migrate.ts';
import { ownMigrations } from '../postgres/migration-files.ts';
import type { Queryable } from '../postgres/queryable.ts';

const CREATE_DATABASE = `select format('create database %I template %I', $1::text, $2::text) as command`;
const RENAME_DATABASE = `select format('alter database %I rename to %I', $1::text, $2::text) as command`;
const DROP_DATABASE = `select format('drop database if exists %I with (force)', $1::text) as command`;
const FIND_DATABASE = `
  select r.rolname as owner, r.rolsuper or r.rolname = current_user as trusted
    from pg_database d join pg_roles r on r.oid = d.datdba where d.datname = $1`;
const LOCK_TEMPLATE = `select pg_advisory_xact_lock(hashtextextended($1, 0))`;

/** Longest time to create or drop a database, or to wait for a template, in milliseconds: a busy disk takes minutes. */
const PATIENCE_MS = 10 * 60_000;
const SILENT = openLog(() => undefined);

/** Opens the database of a server that its address names, to create and drop others. */
export function openServer(url: string): Database {
  const options = { max: 2, name: 'millrace-databases', log: SILENT, statementTimeoutMs: PATIENCE_MS };
  return openDatabase({ connectionString: url, ...options });
}

/** Returns the address of another database on the same server, with the same login. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/** Creates a database as a copy of another one, to which no session is connected. */
export async function copyDatabase(server: Database, name: string, template: string): Promise<void> {
  await run(server, CREATE_DATABASE, [name, template]);
}

/** Drops a database if it exists, even if sessions are connected to it. */
export async function dropDatabase(server: Database, name: string): Promise<void> {
  await run(server, DROP_DATABASE, [name]);
}

/**
 * Returns the name of the migrated database that others are copied from, and creates it if it is missing. Its name
 * depends on the migrations. Several processes can do this at the same time: one creates it, and the others wait.
 * @param migrations their folder; default: that of this release.
 * @throws Error if it belongs to another login: its triggers would run with the rights of this login
 */
export async function ensureTemplate(server: Database, url: string, migrations = ownMigrations()): Promise<string> {
  const name = `millrace_template_${hashOf(migrations)}`;
  if (await exists(server, name)) return name;
  const limits = { statementMs: PATIENCE_MS, idleMs: PATIENCE_MS };
  await server.transaction(async (tx) => {
    await tx.query(LOCK_TEMPLATE, [name]);
    if (await exists(tx, name)) return;
    // A process that was killed leaves an incomplete draft.
    await dropDatabase(server, `${name}_draft`);
    await makeTemplate(server, withDatabase(url, `${name}_draft`), migrations);
    await run(server, RENAME_DATABASE, [`${name}_draft`, name]);
  }, limits);
  return name;
}

/** Creates a migrated database. */
async function makeTemplate(server: Database, url: string, migrations: string): Promise<void> {
  await copyDatabase(server, new URL(url).pathname.slice(1), 'template0');
  await migrate({ connectionString: url, folder: migrations, log: SILENT });
}

function hashOf(migrations: string): string {
  const checksums = readMigrations(migrations).map(({ name, checksum }) => `${name} ${checksum}`);
  return createHash('sha256').update(checksums.join('\n')).digest('hex').slice(0, 12);
}

async function exists(db: Queryable, name: string): Promise<boolean> {
  const { rows } = await db.query<{ owner: string; trusted: boolean }>(FIND_DATABASE, [name]);
  const [found] = rows;
  if (found?.trusted === false) {
    const why = `belongs to ${found.owner}, and a copy of it could act with the rights of this login`;
    throw new Error(`the database ${name} ${why}: drop it, or use another server`);
  }
  return found !== undefined;
}

/** Runs the command that a query returns: names in a command cannot be parameters, and Postgres quotes them there. */
async function run(server: Database, text: string, names: readonly string[]): Promise<void> {
  const { rows } = await server.query<{ command: string }>(text, names);
  await server.command(rows[0]?.command ?? '');
}
