import { existsSync, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { isForeign } from '../../core/catalog/handler-files.ts';
import { messageOf } from '../../core/failure.ts';
import { openFolderWatchers } from './folder-watchers.ts';

/** Editors write a file in several steps: it is read after a pause without changes. */
const QUIET_MS = 150;

/** What is watched. */
interface Watched {
  /** Every file under this folder. */
  readonly folder: string;
  /** One file elsewhere, which need not exist. */
  readonly file: string;
  /** Files elsewhere, and new sources beside them. The set may grow. */
  readonly sources: ReadonlySet<string>;
}

interface Watch {
  /** Starts to watch sources that were added to the set. */
  update(): Promise<void>;
  /** Stops the watch and waits for the calls in progress. */
  end(): Promise<void>;
}

/**
 * Calls `reload` after a watched file was saved, also during another call, and prints a line if it fails.
 */
export async function watchSources(
  { folder, file, sources }: Watched,
  reload: () => Promise<void>,
  printLine: (line: string) => void,
): Promise<Watch> {
  const reportFailure = (error: unknown) => printLine(`reload failed: ${messageOf(error)}`);
  let timer: NodeJS.Timeout | undefined;
  let updated: Promise<void> = Promise.resolve();
  const calls = new Set<Promise<void>>();
  const onChange = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      updated = updated.catch(() => undefined).then(update);
      const call = updated.then(reloadIfPresent).catch(reportFailure);
      calls.add(call);
      void call.then(() => calls.delete(call));
    }, QUIET_MS);
  };
  let isMissing = false;
  const reloadIfPresent = async (): Promise<void> => {
    const wasMissing = isMissing;
    isMissing = !existsSync(folder);
    if (!isMissing) return reload().then(update);
    if (!wasMissing) printLine(`no folder ${folder}: its handlers stay deployed; restore it, or start again`);
  };
  const folders = watchFolders(folder, onChange);
  const beside = watchBeside(folder, sources, onChange);
  const update = async (): Promise<void> => {
    beside.update();
    await folders.update();
  };
  await update();
  // The folder of the file is watched, since the file may be created later, or replaced by another.
  const files = watch(dirname(file), (_event, name) => (name === basename(file) ? onChange() : undefined));
  files.on('error', () => files.close());
  const end = async (): Promise<void> => {
    for (const watched of [folders, beside, files]) watched.close();
    clearTimeout(timer);
    await Promise.all(calls);
  };
  return { update, end };
}

const SOURCE = /\.([cm]?[jt]sx?|json)$/;

/** Watches the folders of sources outside `root`: not what is below them, and in them only sources. */
function watchBeside(root: string, sources: ReadonlySet<string>, onChange: () => void) {
  const isWatched = (folder: string, name: string | null) =>
    name === null || (SOURCE.test(name) && !isForeign(name)) || sources.has(join(folder, name));
  const watchers = openFolderWatchers(isWatched, onChange);
  return {
    update: (): void => {
      for (const folder of new Set([...sources].map((source) => dirname(source)))) {
        if (!`${folder}${sep}`.startsWith(`${root}${sep}`)) watchers.add(folder);
      }
    },
    close: watchers.close,
  };
}

/**
 * Watches each folder by itself. On Linux, Node's recursive watch watches each file and misses changes after a file
 * was replaced by another, which is how many editors save.
 */
function watchFolders(root: string, onChange: () => void) {
  const watchers = openFolderWatchers((_folder, name) => name === null || !isForeign(name), onChange);
  return {
    /** Starts to watch new folders and stops watching deleted ones. */
    update: async (): Promise<void> => {
      const folders = new Set([root, ...(await subfolders(root))]);
      watchers.keep(folders);
      for (const folder of folders) watchers.add(folder);
    },
    close: watchers.close,
  };
}

async function subfolders(root: string): Promise<string[]> {
  if (!existsSync(root)) return [];
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !relative(root, path).split(sep).some(isForeign));
}
