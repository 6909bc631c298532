import { mkdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../core/failure.ts';
import { oneLine } from '../core/text.ts';
import { isBusy } from './lock-holder.ts';
import { endLeftovers } from './postgres/leftovers.ts';

export interface FolderLock {
  release(): void;
}

/** The commit keeps an exclusive lock; the transaction after it keeps SQLite from releasing it later. */
const ACQUIRE_LOCK = `
  pragma locking_mode = exclusive;
  begin exclusive;
  pragma user_version = ${process.pid};
  commit;
  begin exclusive`;
const LOCK_ATTEMPTS = 8;

/**
 * Acquires a lock that only one process can hold; undefined if another process holds it. Node has no file locks,
 * SQLite has: the operating system releases them however the process ends, so no lock is ever stale. The file contains
 * the id of the process: see `describeHolder`.
 */
export async function lockFolder(file: string): Promise<FolderLock | undefined> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  for (let attempt = 1; ; attempt++) {
    const lock = tryLock(file);
    if (lock !== undefined || attempt === LOCK_ATTEMPTS) return lock;
    // Two processes that try at the same moment can block each other, and both are refused.
    await wait(20 + Math.random() * 60);
  }
}

function tryLock(file: string): FolderLock | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec(ACQUIRE_LOCK);
    const opened = database;
    return { release: () => opened.close() };
  } catch (error) {
    database?.close();
    if (isBusy(error)) return undefined;
    throw new Error(`${file} cannot be locked (${messageOf(error)}): delete it and start again`, { cause: error });
  }
}

/** Entries of a folder that one line names. */
const MOST_NAMES = 10;

/**
 * Deletes everything in the data folder except the files whose name begins with `keep`, and prints what it deletes
 * before it does so.
 */
export async function emptyFolder(data: string, keep: string, printLine: (line: string) => void): Promise<void> {
  const list = async () => (await readdir(data)).filter((name) => !name.startsWith(keep)).sort();
  const names = await list();
  const shown = names.slice(0, MOST_NAMES).map((name) => oneLine(name, 100));
  const more = names.length - shown.length;
  if (names.length > 0) {
    printLine(
      `deleting the data of earlier starts in ${data}: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
    );
  }
  // A Postgres whose parent was killed a moment ago may still write.
  await endLeftovers(join(data, 'postgres')).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  for (const name of await list()) await rm(join(data, name), { recursive: true, force: true });
}
