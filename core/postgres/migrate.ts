import { MigrationError } from '../errors.ts';
import { messageOf } from '../failure.ts';
import { type Log, processLog } from '../log.ts';
import { buildIndexes } from './build-indexes.ts';
import { type Database, errorCode, openDatabase, type Queryable } from './database.ts';
import { MIGRATIONS_FOLDER, type Migration, readMigrations } from './migration-files.ts';
import { migrationHint } from './migration-hint.ts';
import type { Address } from './pool.ts';

export { readMigrations };

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
const LOCK = `select pg_try_advisory_xact_lock(hashtextextended('millrace.migrations', 0)) as locked`;
const ASK_EVERY_MS = 100;
const BECOME_OWNER = `set local role millrace_owner`;
/** Whoever waits for a table lets everybody after him wait: no insert of the running system may wait long for us. */
const LIMIT_WAITING = `set local lock_timeout = '300ms'`;

export type MigrateOptions = Address & {
  folder?: string;
  log?: Log;
};

/**
 * Brings a database to the state of the folder. Safe when several run at once and when one is killed: each file is one
 * transaction behind a lock, or says that it is none and can be run again.
 * @throws MigrationError when an applied file was changed, a statement fails, or the login lacks rights.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const { folder = MIGRATIONS_FOLDER, log = processLog, ...address } = options;
  const connection = { ...address, max: 1, name: 'millrace-migrate', log };
  const db = openDatabase({ ...connection, statementTimeoutMs: 15 * 60_000 });
  const outside = openDatabase({ ...connection, statementTimeoutMs: 12 * 3600_000 });
  try {
    return await applyAll({ db, outside }, readMigrations(folder), log);
  } finally {
    await Promise.all([db.close(), outside.close()]);
  }
}

/** `outside` runs what cannot be in a transaction, while one of `db` holds the lock. */
interface Connections {
  readonly db: Database;
  readonly outside: Database;
}

export interface MigrationStatus {
  readonly name: string;
  /** `changed`: applied, but the file differs now. `ahead`: applied, and no such file. */
  readonly state: 'applied' | 'pending' | 'changed' | 'ahead';
  readonly appliedAt: Date | null;
}

/** How a database stands to the folder, in order of the names. Changes nothing. */
export async function migrationStatus(db: Queryable, folder: string = MIGRATIONS_FOLDER): Promise<MigrationStatus[]> {
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
    if (!(await apply(connections, migration))) continue;
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
      await alone(db, async (tx) => {
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

/**
 * One transaction that no other migrator has beside it. Asks again instead of waiting: whoever waits in a statement has
 * a snapshot, for whose end `create index concurrently` of the one that has the lock would wait in turn.
 */
async function alone<T>(db: Database, work: (tx: Queryable) => Promise<T>): Promise<T> {
  for (;;) {
    const done = await db.transaction(async (tx) => {
      const { rows } = await tx.query<{ locked: boolean }>(LOCK);
      return rows[0]?.locked ? { value: await work(tx) } : undefined;
    });
    if (done) return done.value;
    await new Promise((next) => setTimeout(next, ASK_EVERY_MS));
  }
}

async function isPrepared(tx: Queryable): Promise<boolean> {
  const { rows } = await tx.query(FIND_LEDGER);
  return rows.length > 0;
}

async function apply({ db, outside }: Connections, migration: Migration): Promise<boolean> {
  try {
    return await alone(db, async (tx) => {
      await tx.query(BECOME_OWNER);
      await tx.query(LIMIT_WAITING);
      const { rows } = await tx.query<{ name: string; checksum: string }>(READ_LEDGER);
      const before = rows.find(({ name }) => name === migration.name);
      if (before) {
        refuseChanged(migration, before.checksum);
        return false;
      }
      if (migration.statements) await buildIndexes(outside, migration.statements);
      else await tx.query(migration.sql);
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
  const message = messageOf(error);
  return new MigrationError(`${what}: ${message}${migrationHint(error)}`, { cause: error });
}
