import { MigrationError } from '../errors.ts';
import { messageOf } from '../failure.ts';
import { type Log, processLog } from '../log.ts';
import { buildIndexes } from './build-indexes.ts';
import { type Database, openDatabase } from './database.ts';
import { type Migration, ownMigrations, readMigrations } from './migration-files.ts';
import { keepingAlive, refuseForeignSchema, withLedger } from './migration-lock.ts';
import type { Address, Queryable } from './queryable.ts';
import { errorCode, migrationHint } from './statement-errors.ts';

export { readMigrations };

export interface MigrateResult {
  readonly applied: readonly string[];
  /** Migrations that are in the database but not in the folder, because a newer release ran before. */
  readonly ahead: readonly string[];
}

const ENSURE_ROLES = `do $$
declare
  wanted text;
begin
  foreach wanted in array array['millrace_owner', 'millrace_runtime', 'millrace_app', 'millrace_operator'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin', wanted);
      exception when duplicate_object or unique_violation then
        null; -- another database of this server is being set up at the same moment
      end;
    end if;
  end loop;
  -- From 16 on, who creates a role is a member of it, but may not become it.
  if not pg_has_role(current_user, 'millrace_owner',
      case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end) then
    execute format('grant millrace_owner to %I', current_user);
  end if;
end $$`;

const ENSURE_SCHEMA = `create schema if not exists millrace authorization millrace_owner`;
const ENSURE_LEDGER = `create table if not exists millrace.migrations (
  name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
/** Reads the catalog, which every login may do: before it becomes the owner, the login may have no other rights. */
const FIND_LEDGER = `
  select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'millrace' and c.relname = 'migrations'`;
const READ_LEDGER = `select name, checksum, applied_at as "appliedAt" from millrace.migrations order by name`;
const RECORD = `insert into millrace.migrations (name, checksum) values ($1, $2)`;
/** Codes of the errors that occur if another session changed the same catalog row or created the same object. */
const CONFLICTS = new Set(['XX000', '23505', '42710', '42P06', '42P07']);
const MOST_CONFLICTS = 20;
const BECOME_OWNER = `set local role millrace_owner`;

export type MigrateOptions = Address & {
  folder?: string;
  log?: Log;
};

/**
 * Applies the pending migrations of a folder. Safe to run concurrently and to kill: each file is one transaction behind
 * a lock, or is marked as outside a transaction and repeatable.
 * @throws MigrationError when an applied file was changed, a statement fails, or the login lacks rights.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const { folder = ownMigrations(), log = processLog, ...address } = options;
  const connection = { ...address, max: 1, name: 'millrace-migrate', log };
  const db = openDatabase({ ...connection, statementTimeoutMs: 15 * 60_000 });
  const outside = openDatabase({ ...connection, statementTimeoutMs: 12 * 3600_000 });
  try {
    return await applyAll({ db, outside }, readMigrations(folder), log);
  } finally {
    await Promise.all([db.close(), outside.close()]);
  }
}

/** `outside` runs statements outside a transaction, while a transaction of `db` has the lock. */
interface Connections {
  readonly db: Database;
  readonly outside: Database;
}

export interface MigrationStatus {
  readonly name: string;
  /** `changed`: applied, but its file differs now. `ahead`: applied, but without a file. */
  readonly state: 'applied' | 'pending' | 'changed' | 'ahead';
  readonly appliedAt: Date | null;
}

/** Returns the status of every migration, in order of the names. Changes nothing. */
export async function migrationStatus(db: Queryable, folder: string = ownMigrations()): Promise<MigrationStatus[]> {
  await refuseForeignSchema(db);
  const applied = (await isPrepared(db)) ? (await db.query<Applied>(READ_LEDGER)).rows : [];
  const files = readMigrations(folder);
  const status = files.map(({ name, checksum }): MigrationStatus => {
    const entry = applied.find((one) => one.name === name);
    if (entry === undefined) return { name, state: 'pending', appliedAt: null };
    return { name, state: entry.checksum === checksum ? 'applied' : 'changed', appliedAt: entry.appliedAt };
  });
  const ahead = applied.filter(({ name }) => !files.some((file) => file.name === name));
  return [...status, ...ahead.map(({ name, appliedAt }): MigrationStatus => ({ name, state: 'ahead', appliedAt }))];
}

interface Applied {
  name: string;
  checksum: string;
  appliedAt: Date;
}

async function applyAll(connections: Connections, migrations: readonly Migration[], log: Log): Promise<MigrateResult> {
  const { db } = connections;
  await prepare(db);
  const applied: string[] = [];
  for (const migration of migrations) {
    if (!(await apply(connections, migration, log))) continue;
    applied.push(migration.name);
    log.info('migration_applied', { migration: migration.name });
  }
  const known = new Set(migrations.map(({ name }) => name));
  const ledger = await db.transaction(async (tx) => {
    await tx.query(BECOME_OWNER);
    return (await tx.query<{ name: string }>(READ_LEDGER)).rows;
  });
  return { applied, ahead: ledger.map(({ name }) => name).filter((name) => !known.has(name)) };
}

/**
 * Creates roles, schema and ledger. Retries after a conflict with a concurrent migration of this or another database.
 */
async function prepare(db: Database): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await db.transaction(async (tx) => {
        await refuseForeignSchema(tx);
        if (await isPrepared(tx)) return;
        await tx.query(ENSURE_ROLES);
        await tx.query(ENSURE_SCHEMA);
        await tx.query(BECOME_OWNER);
        await tx.query(ENSURE_LEDGER);
        // Another session may have created them meanwhile.
        await refuseForeignSchema(tx);
      });
      return;
    } catch (error) {
      if (attempt < MOST_CONFLICTS && CONFLICTS.has(errorCode(error) ?? '')) continue;
      if (error instanceof MigrationError) throw error;
      throw explain('preparing roles and schema', error);
    }
  }
}

async function isPrepared(tx: Queryable): Promise<boolean> {
  const { rows } = await tx.query(FIND_LEDGER);
  return rows.length > 0;
}

async function apply({ db, outside }: Connections, migration: Migration, log: Log): Promise<boolean> {
  const { statements } = migration;
  try {
    return await withLedger(db, log, async (tx) => {
      const { rows } = await tx.query<{ name: string; checksum: string }>(READ_LEDGER);
      const before = rows.find(({ name }) => name === migration.name);
      if (before) {
        refuseChanged(migration, before.checksum);
        return false;
      }
      if (statements) await keepingAlive(tx, () => buildIndexes(outside, statements));
      else await tx.query(migration.sql);
      await tx.query(RECORD, [migration.name, migration.checksum]);
      return true;
    });
  } catch (error) {
    if (error instanceof MigrationError) throw error;
    throw explain(`migration ${migration.name}${statements ? '' : lineOf(migration.sql, error)}`, error);
  }
}

function refuseChanged(migration: Migration, checksum: string): void {
  if (checksum === migration.checksum) return;
  throw new MigrationError(
    `migration ${migration.name} was changed after it was applied to this database: restore the file, ` +
      'and put the change into a new migration',
  );
}

/** Returns `, line 12` for an error with a position in the text, which counts characters from 1. */
function lineOf(sql: string, error: unknown): string {
  const position = Number((error as { position?: unknown } | null)?.position);
  if (!(position > 0)) return '';
  return `, line ${[...sql].slice(0, position - 1).filter((letter) => letter === '\n').length + 1}`;
}

function explain(what: string, error: unknown): MigrationError {
  const message = messageOf(error);
  return new MigrationError(`${what}: ${message}${migrationHint(error)}`, { cause: error });
}
