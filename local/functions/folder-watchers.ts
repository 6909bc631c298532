import { existsSync, type FSWatcher, type WatchListener, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Watches folders, also while they are missing. */
export interface FolderWatchers {
  /** Starts to watch a folder, or waits until it exists; without effect on one that is watched already. */
  add(folder: string): void;
  /** Stops watching all other folders. */
  keep(folders: ReadonlySet<string>): void;
  close(): void;
}

/**
 * Calls `onChange` when a file of a watched folder that `isWatched` accepts has changed, and when such a folder is
 * deleted, replaced by another, or restored, as `git switch` does: a watcher only sees the folder that it was given.
 */
export function openFolderWatchers(
  isWatched: (folder: string, name: string | null) => boolean,
  onChange: () => void,
): FolderWatchers {
  const watchers = new Map<string, FSWatcher>();
  let closed = false;
  const remove = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  /** Returns whether it watches the folder, or waits for it: false if what is there has changed meanwhile. */
  const start = (folder: string): boolean => {
    const child = nearestMissing(folder);
    const seen = child === undefined ? folder : dirname(child);
    const watcher = watchExisting(seen, (event, name) => {
      if (watchers.get(folder) !== watcher) return;
      // The folder itself was deleted or moved, or the missing one exists now: the next `add` watches what is there.
      const isOther = name === basename(child ?? folder) || name === basename(seen);
      if (event === 'rename' && isOther) remove(folder);
      if (isOther || (child === undefined && isWatched(folder, name))) onChange();
    });
    if (watcher === undefined) return false;
    watcher.on('error', () => (watchers.get(folder) === watcher ? remove(folder) : watcher.close()));
    watchers.set(folder, watcher);
    if (child === undefined || !existsSync(child)) return true;
    remove(folder);
    return false;
  };
  return {
    add: (folder) => {
      while (!closed && !watchers.has(folder) && !start(folder));
    },
    keep: (folders) => {
      for (const folder of watchers.keys()) if (!folders.has(folder)) remove(folder);
    },
    close: () => {
      closed = true;
      for (const folder of watchers.keys()) remove(folder);
    },
  };
}

/** Returns undefined if the folder was deleted meanwhile. */
function watchExisting(folder: string, listener: WatchListener<string>): FSWatcher | undefined {
  try {
    return watch(folder, listener);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the first part of a path that does not exist; undefined if all do. */
function nearestMissing(path: string): string | undefined {
  if (existsSync(path)) return undefined;
  return nearestMissing(dirname(path)) ?? path;
}
