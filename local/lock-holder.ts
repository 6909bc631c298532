import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { findAbove } from './find-above.ts';

const SQLITE_BUSY = 5;
const READ_HOLDER = 'pragma user_version';

/** Returns the path of the file that the process of a project's stack locks. */
export function lockPath(project: string): string {
  return join(project, '.millrace', 'lock');
}

/**
 * Returns the id of the process that holds a lock of `lockFolder`; undefined if no process holds it. The id is in the
 * locked file itself, so that it cannot get lost while the lock is held. Never call it in the process of the holder:
 * POSIX releases the locks of a process when it closes any descriptor of the file.
 */
function lockHolder(file: string): number | undefined {
  if (!existsSync(file)) return undefined;
  try {
    readHolder(file);
    return undefined;
  } catch (error) {
    if (!isBusy(error)) return undefined;
  }
  // SQLite reads an immutable file without a lock.
  const unlocked = pathToFileURL(file);
  unlocked.search = '?immutable=1';
  return readHolder(unlocked);
}

/** Returns whether SQLite refused a lock because another process holds it. */
export function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === SQLITE_BUSY;
}

function readHolder(file: string | URL): number {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 0 });
  try {
    return Number(database.prepare(READ_HOLDER).get()?.user_version);
  } finally {
    database.close();
  }
}

/** Describes the stack that holds the lock of a project; undefined if no process holds it. */
export function describeHolder(project: string): string | undefined {
  const pid = lockHolder(lockPath(project));
  if (pid === undefined) return undefined;
  // A process that has only just created the file is not in it yet.
  const [name, stop] = pid > 0 ? [`process ${pid}`, `\`kill ${pid}\``] : ['another process', 'Ctrl-C in its terminal'];
  return (
    `Millrace starts or runs in ${project} as ${name}, but .millrace/dev.json does not describe it: ` +
    `wait if it is still starting; otherwise stop it with ${stop}, then run npx millrace dev`
  );
}

/** Describes a running stack of this project that has no valid `.millrace/dev.json`. */
export function findHiddenStack(from: string = process.cwd()): string | undefined {
  const found = findAbove(from, '.millrace/lock');
  return found && describeHolder(found.folder);
}
