import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { isForeign } from '../../core/catalog/catalog.ts';
import { messageOf } from '../../core/failure.ts';

/** Editors write a file in several steps: it is read after a pause without changes. */
const QUIET_MS = 150;

/** What is watched: every file under a folder that is not hidden, and one file elsewhere, which need not exist. */
interface Watched {
  readonly folder: string;
  readonly file: string;
}

/**
 * Calls `reload` after a watched file was saved, also during another call, and prints a line if it fails. Returns a
 * function that stops the watch and waits for the calls in progress.
 */
export async function watchSources(
  { folder, file }: Watched,
  reload: () => Promise<void>,
  printLine: (line: string) => void,
): Promise<() => Promise<void>> {
  const reportFailure = (error: unknown) => printLine(`reload failed: ${messageOf(error)}`);
  let timer: NodeJS.Timeout | undefined;
  let updated: Promise<void> = Promise.resolve();
  const calls = new Set<Promise<void>>();
  const onChange = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      updated = updated.catch(() => undefined).then(folders.update);
      const call = updated.then(reload).catch(reportFailure);
      calls.add(call);
      void call.then(() => calls.delete(call));
    }, QUIET_MS);
  };
  const folders = watchFolders(folder, onChange);
  await folders.update();
  // The folder of the file is watched, since the file may be created later, or replaced by another.
  const files = watch(dirname(file), (_event, name) => (name === basename(file) ? onChange() : undefined));
  files.on('error', () => files.close());
  return async () => {
    folders.close();
    files.close();
    clearTimeout(timer);
    await Promise.all(calls);
  };
}

/**
 * Watches each folder by itself. On Linux, Node's recursive watch watches each file and misses changes after a file
 * was replaced by another, which is how many editors save.
 */
function watchFolders(root: string, onChange: () => void) {
  const watchers = new Map<string, FSWatcher>();
  let closed = false;
  const add = (folder: string): void => {
    if (closed || watchers.has(folder)) return;
    const watcher = watch(folder, (_event, name) => (name !== null && isForeign(name) ? undefined : onChange()));
    const remove = () => {
      watcher.close();
      watchers.delete(folder);
    };
    watcher.on('error', remove);
    watchers.set(folder, watcher);
  };
  return {
    /** Starts to watch new folders and stops watching deleted ones. */
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
    .filter((path) => !relative(root, path).split(sep).some(isForeign));
}
