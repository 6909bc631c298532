import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

// The write-ahead log without a sync per commit survives a killed process; only a power failure loses the last writes.
const SCHEMA = `
  pragma locking_mode = exclusive;
  pragma journal_mode = wal;
  pragma synchronous = normal;
  create table if not exists queues (name text primary key, data text not null) without rowid;
  create table if not exists deleted_queues (name text primary key, deleted_at integer not null) without rowid;
  create table if not exists tasks (seq integer primary key, id text not null unique, data text not null);
  create table if not exists messages (
    seq integer primary key,
    queue text not null,
    state text not null,
    visible_at integer not null,
    receipt integer not null,
    receive_count integer not null,
    first_received_at integer,
    last_received_at integer,
    fixed text not null
  );
`;
const INSERT_MESSAGE = 'insert into messages values (?, ?, ?, ?, ?, ?, ?, ?, ?)';
const UPDATE_MESSAGE = `
  update messages set state = ?, visible_at = ?, receipt = ?, receive_count = ?, first_received_at = ?,
    last_received_at = ?
  where seq = ?
`;
const DELETE_MESSAGE = 'delete from messages where seq = ?';
const UPSERT_QUEUE = 'insert into queues values (?, ?) on conflict do update set data = excluded.data';
const DELETE_QUEUE = 'delete from queues where name = ?';
const INSERT_DELETED_QUEUE = 'insert or replace into deleted_queues values (?, ?)';
const DELETE_DELETED_QUEUE = 'delete from deleted_queues where name = ?';
const UPSERT_TASK = 'insert into tasks (id, data) values (?, ?) on conflict (id) do update set data = excluded.data';
const DELETE_TASK = 'delete from tasks where id = ?';

const STATEMENTS = {
  insertMessage: INSERT_MESSAGE,
  updateMessage: UPDATE_MESSAGE,
  deleteMessage: DELETE_MESSAGE,
  upsertQueue: UPSERT_QUEUE,
  deleteQueue: DELETE_QUEUE,
  insertDeletedQueue: INSERT_DELETED_QUEUE,
  deleteDeletedQueue: DELETE_DELETED_QUEUE,
  upsertTask: UPSERT_TASK,
  deleteTask: DELETE_TASK,
} as const;
export type Statements = Record<keyof typeof STATEMENTS, StatementSync>;

export interface StoreFile {
  readonly statements: Statements;
  /** Runs `writes` in one transaction. */
  transact(writes: () => void): void;
  rows<Row>(sql: string): Row[];
  close(): void;
}

/**
 * Opens the file; creates it and its folder if they do not exist.
 * @throws Error if it is not a database, or another process has it open
 */
export function openStoreFile(path: string): StoreFile {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path, { timeout: 2000 });
  database.exec(SCHEMA);
  const prepared = Object.entries(STATEMENTS).map(([name, sql]) => [name, database.prepare(sql)]);
  return {
    statements: Object.fromEntries(prepared) as Statements,
    transact(writes) {
      database.exec('begin immediate');
      try {
        writes();
        database.exec('commit');
      } catch (error) {
        database.exec('rollback');
        throw error;
      }
    },
    rows: <Row>(sql: string) => database.prepare(sql).all() as Row[],
    close: () => database.close(),
  };
}
