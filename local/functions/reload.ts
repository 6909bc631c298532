import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { messageOf } from '../../core/failure.ts';

/** Editors write a file in several steps: only when it has been quiet for a moment is it read. */
const QUIET_MS = 150;

/**
 * Calls `reload` after something under `folder` was saved; a call that fails is told by `say`. Returns what ends it,
 * which waits for a call under way.
 */
export async function watchSources(
  folder: string,
  reload: () => Promise<void>,
  say: (line: string) => void,
): Promise<() => Promise<void>> {
  const tell = (error: unknown) => say(`reload failed: ${messageOf(error)}`);
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  const folders = watchFolders(folder, () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      last = last.then(folders.update).then(reload).catch(tell);
    }, QUIET_MS);
  });
  await folders.update();
  return async () => {
    folders.close();
    clearTimeout(timer);
    await last;
  };
}

/**
 * One watch a folder. Node's own recursive one watches each file on Linux, and sees nothing more of a file that was
 * replaced by another, which is how many editors save.
 */
function watchFolders(root: string, onChange: () => void) {
  const watchers = new Map<string, FSWatcher>();
  let closed = false;
  const add = (folder: string): void => {
    if (closed || watchers.has(folder)) return;
    const watcher = watch(folder, onChange);
    const forget = () => {
      watcher.close();
      watchers.delete(folder);
    };
    watcher.on('error', forget);
    watchers.set(folder, watcher);
  };
  return {
    /** Folders that came are watched, those that went are not. */
    update: async (): Promise<void> => {
      const folders = new Set([root, ...(await subfolders(root))]);
      for (const [folder, watcher] of watchers) {
        if (folders.has(folder)) continue;
        watcher.close();
        watchers.delete(folder);
      }
      for (const folder of folders) add(folder);
    },
    close: (): void => {
      closed = true;
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

async function subfolders(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !relative(root, path).split(sep).includes('node_modules'));
}
