import { mkdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { endLeftovers } from './postgres/leftovers.ts';

export interface FolderLock {
  release(): void;
}

const SQLITE_BUSY = 5;
const TAKE = 'pragma locking_mode = exclusive; begin exclusive';

const TRIES = 8;

/**
 * Takes a lock that one process at a time can hold; undefined when another one has it. Node has no file locks of its
 * own, SQLite has: the system lets go of it however its holder ends, so that there is nothing stale to judge.
 */
export async function lockFolder(file: string): Promise<FolderLock | undefined> {
  mkdirSync(dirname(file), { recursive: true });
  for (let attempt = 1; ; attempt++) {
    const lock = tryLock(file);
    if (lock !== undefined || attempt === TRIES) return lock;
    // Two that try at the very same moment can both be refused, since each sees the other on its way to the lock.
    await wait(20 + Math.random() * 60);
  }
}

function tryLock(file: string): FolderLock | undefined {
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

/** Throws away what earlier starts left in `data`, save the files whose name begins with `keep`. */
export async function emptyFolder(data: string, keep: string): Promise<void> {
  // A database whose starter was killed this moment may still write.
  await endLeftovers(join(data, 'postgres')).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const entries = await readdir(data);
  for (const entry of entries.filter((name) => !name.startsWith(keep))) {
    await rm(join(data, entry), { recursive: true, force: true });
  }
}
