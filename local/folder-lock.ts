import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface FolderLock {
  release(): void;
}

const SQLITE_BUSY = 5;
const TAKE = 'pragma locking_mode = exclusive; begin exclusive';

/**
 * Takes a lock that one process at a time can hold; undefined when another one has it. Node has no file locks of its
 * own, SQLite has: the system lets go of it however its holder ends, so that there is nothing stale to judge.
 */
export function takeLock(file: string): FolderLock | undefined {
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec(TAKE);
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw new Error(`${file} cannot be locked: delete it and start again.`, { cause: error });
  }
}
