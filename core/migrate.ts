import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, errorCode, openDatabase, type Queryable } from './database.ts';
import { MigrationError } from './errors.ts';
import { type Log, processLog } from './log.ts';

/** One file of the migrations folder. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface MigrateResult {
  readonly applied: readonly string[];
  /** In the database but not in the folder: a newer release ran here before. */
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
/** Looked up in the catalogue, which anybody may read: the login need not have rights before it becomes the owner. */
const FIND_LEDGER = `
  select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'millrace' and c.relname = 'migrations'`;
const READ_LEDGER = `select name, checksum, applied_at as "appliedAt" from millrace.migrations order by name`;
const RECORD = `insert into millrace.migrations (name, checksum) values ($1, $2)`;
/** Held until the transaction ends, so a pooler in transaction mode is fine and a killed migrator holds nothing. */
const LOCK = `select pg_advisory_xact_lock(hashtextextended('millrace.migrations', 0))`;
const BECOME_OWNER = `set local role millrace_owner`;
/** Whoever waits for a table lets everybody after him wait: no insert of the running system may wait long for us. */
const LIMIT_WAITING = `set local lock_timeout = '300ms'`;

/** Ships with the code. */
const FOLDER = join(import.meta.dirname, '..', 'migrations');

export interface MigrateOptions {
  connectionString: string;
  folder?: string;
  log?: Log;
}

/** The files of a folder, in the order in which they apply. */
export function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return names.sort().map((name) => {
    const sql = readFileSync(join(folder, name), 'utf8');
    return { name: name.slice(0, -4), sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}

/**
 * Brings a database to the state of the folder. Safe when several run at once and when one is killed: each file is one
 * transaction behind a lock.
 * @throws MigrationError when an applied file was changed, a statement fails, or the login lacks rights.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const { folder = FOLDER, log = processLog } = options;
  const db = openDatabase({
    connectionString: options.connectionString,
    max: 1,
    name: 'millrace-migrate',
    log,
    statementTimeoutMs: 15 * 60_000,
  });
  try {
    return await applyAll(db, readMigrations(folder), log);
  } finally {
    await db.close();
  }
}

export interface MigrationStatus {
  readonly name: string;
  /** `changed`: applied, but the file differs now. `ahead`: applied, and no such file. */
  readonly state: 'applied' | 'pending' | 'changed' | 'ahead';
  readonly appliedAt: Date | null;
}

/** How a database stands to the folder, in order of the names. Changes nothing. */
export async function migrationStatus(db: Queryable, folder: string = FOLDER): Promise<MigrationStatus[]> {
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

async function applyAll(db: Database, migrations: readonly Migration[], log: Log): Promise<MigrateResult> {
  await prepare(db);
  const applied: string[] = [];
  for (const migration of migrations) {
    if (!(await apply(db, migration))) continue;
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

/** Roles belong to the whole server, so two databases set up at once can collide: tried again some times. */
async function prepare(db: Database): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await db.transaction(async (tx) => {
        await tx.query(LOCK);
        if (await isPrepared(tx)) return;
        await tx.query(ENSURE_ROLES);
        await tx.query(ENSURE_SCHEMA);
        await tx.query(BECOME_OWNER);
        await tx.query(ENSURE_LEDGER);
      });
      return;
    } catch (error) {
      if (attempt < 10 && ['XX000', '23505', '42710'].includes(errorCode(error) ?? '')) continue;
      throw explain('preparing roles and schema', error);
    }
  }
}

async function isPrepared(tx: Queryable): Promise<boolean> {
  const { rows } = await tx.query(FIND_LEDGER);
  return rows.length > 0;
}

async function apply(db: Database, migration: Migration): Promise<boolean> {
  try {
    return await db.transaction(async (tx) => {
      await tx.query(LOCK);
      await tx.query(BECOME_OWNER);
      await tx.query(LIMIT_WAITING);
      const { rows } = await tx.query<{ name: string; checksum: string }>(READ_LEDGER);
      const before = rows.find(({ name }) => name === migration.name);
      if (before) {
        refuseChanged(migration, before.checksum);
        return false;
      }
      await tx.query(migration.sql);
      await tx.query(RECORD, [migration.name, migration.checksum]);
      return true;
    });
  } catch (error) {
    throw error instanceof MigrationError ? error : explain(`migration ${migration.name}`, error);
  }
}

function refuseChanged(migration: Migration, checksum: string): void {
  if (checksum === migration.checksum) return;
  throw new MigrationError(
    `migration ${migration.name} was changed after it was applied to this database: restore the file, and put the change into a new migration`,
  );
}

function explain(what: string, error: unknown): MigrationError {
  const message = error instanceof Error ? error.message : String(error);
  const hint = errorCode(error) === '42501' ? ' (the login needs CREATEROLE and CREATE on the database)' : '';
  return new MigrationError(`${what}: ${message}${hint}`, { cause: error });
}
